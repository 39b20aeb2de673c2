import { App } from "./app";
import { find, make } from "./elements";
import { renderJob } from "./job";
import { openSource } from "./source";
import { renderingSupport } from "./stage";
import "./style.css";

// Shows unexpected errors on the page, not only in the console.
function showError(error: unknown): void {
  const message = find("message");
  message.hidden = false;
  message.replaceChildren(
    make("b", {}, "Error: "),
    error instanceof Error ? error.message : String(error),
  );
}

async function start(): Promise<void> {
  const source = openSource();
  const index = await source.index();
  const token = new URLSearchParams(location.search).get("job");
  if (token && index.job) {
    await renderJob(source, index, token);
    return;
  }
  const app = new App(source, index, renderingSupport());
  // For benchmarks and tests.
  Object.assign(window, { reefknot: app });
  await app.start();
}

addEventListener("unhandledrejection", (event) => showError(event.reason));
start().catch(showError);
