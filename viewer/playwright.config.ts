import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { defineConfig } from "@playwright/test";

// The browser of this machine: none is ever downloaded.
function browser(): string {
  if (process.env["CHROMIUM"]) return process.env["CHROMIUM"];
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const places = ["chromium", "chromium-browser", "google-chrome"].flatMap((name) => folders.map((folder) => join(folder, name)));
  return places.find(existsSync) ?? "/usr/bin/chromium";
}

// `reefknot render` takes the same one.
process.env["REEFKNOT_BROWSER"] ??= browser();

export default defineConfig({
  testDir: "tests",
  // One at a time: drawing without a graphics processor takes all cores.
  workers: 1,
  reporter: "list",
  // Nothing here measures time: these end what hangs, on a machine that has other work as well.
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
