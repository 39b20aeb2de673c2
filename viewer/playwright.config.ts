import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { defineConfig } from "@playwright/test";

// The browser of this machine; Playwright downloads none.
function browser(): string {
  if (process.env["CHROMIUM"]) return process.env["CHROMIUM"];
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const places = ["chromium", "chromium-browser", "google-chrome"].flatMap((name) =>
    folders.map((folder) => join(folder, name)),
  );
  return places.find(existsSync) ?? "/usr/bin/chromium";
}

// `reefknot render` uses the same browser.
process.env["REEFKNOT_BROWSER"] ??= browser();

export default defineConfig({
  testDir: "tests",
  // One test at a time: software rendering uses all cores.
  workers: 1,
  reporter: "list",
  // Time limits for hanging tests; generous, for busy machines.
  timeout: 60_000,
  expect: { timeout: 20_000 },
  use: {
    viewport: { width: 1000, height: 700 },
    launchOptions: {
      executablePath: browser(),
      args: [
        "--no-sandbox",
        "--enable-unsafe-swiftshader",
        "--ignore-gpu-blocklist",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
});
