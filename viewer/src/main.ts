import { App } from "./app";
import { find, make } from "./elements";
import { doJob } from "./job";
import { openSource } from "./source";
import { abilityToDraw } from "./stage";
import "./style.css";

// An error that nobody expected is shown, not left to the console.
function complain(error: unknown): void {
  const message = find("message");
  message.hidden = false;
  message.replaceChildren(make("b", {}, "Something went wrong. "), error instanceof Error ? error.message : String(error));
}

async function start(): Promise<void> {
  const source = openSource();
  const index = await source.index();
  const token = new URLSearchParams(location.search).get("job");
  if (token && index.job) {
    await doJob(source, index, token);
    return;
  }
  const app = new App(source, index, abilityToDraw());
  // For whoever measures or scripts the page.
  Object.assign(window, { reefknot: app });
  await app.start();
}

addEventListener("unhandledrejection", (event) => complain(event.reason));
start().catch(complain);
