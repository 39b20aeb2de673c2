// The viewer during a simulation.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { framePath, logOf, manifestOf } from "./support/files";
import { type Process, reefknot } from "./support/program";
import { expect, test } from "./support/test";

// Takes some seconds on one thread.
const LONG = ["drape", "--set", "parameters.n=36", "--threads", "1"];

async function exists(path: string): Promise<void> {
  await expect.poll(() => existsSync(path), { message: path, intervals: [20] }).toBe(true);
}

// Lets a suspended simulation write frames up to `frame`, and suspends it again. Reads the folder
// rather than the page, which can take longer to draw than the simulation takes to end.
async function advance(run: Process, out: string, frame: number): Promise<void> {
  run.signal("SIGCONT");
  await exists(framePath(out, frame));
  run.signal("SIGSTOP");
  expect(run.hasEnded).toBe(false);
}

test("the page follows a running simulation to its end", async ({ viewer, start, serve, runs }) => {
  const out = join(runs.folder, "live");
  const run = start("run", ...LONG, "--quiet", "--out", out);
  await advance(run, out, 4);
  await viewer.open(await serve(out));
  await expect(viewer.id("state")).toHaveText(/^running: frame \d+ of 100, .* left$/);
  await expect(viewer.id("state")).toHaveClass(/running/);
  await expect(viewer.id("live")).toBeVisible();
  await expect(viewer.id("live")).toHaveClass("on");
  const first = await viewer.position();
  expect(first).toBeGreaterThanOrEqual(4);
  await viewer.isShown(first);

  await advance(run, out, first + 1);
  await expect.poll(() => viewer.position()).toBeGreaterThan(first);
  // After going back, the page stays there until `live` is pressed.
  await viewer.scrub(2);
  await expect(viewer.id("live")).not.toHaveClass("on");
  const last = () => viewer.page.evaluate(() => window.reefknot.last);
  const known = await last();
  await advance(run, out, known + 1);
  await expect.poll(last).toBeGreaterThan(known);
  expect(await viewer.position()).toBe(2);
  await viewer.id("live").click();
  await expect.poll(() => viewer.position()).toBeGreaterThan(known);
  run.signal("SIGCONT");

  await run.ended;
  await expect(viewer.id("state")).toHaveText("finished: 100 frames");
  await viewer.isShown(100);
  await expect(viewer.id("live")).toBeHidden();
  await expect(viewer.value("contacts", "contacts")).toHaveText(
    String(logOf(out).at(-1)!["contacts"]),
  );
  await expect(viewer.message).toBeHidden();
});

test("a run with --view serves its page, and Ctrl-C leaves intact files", async ({
  viewer,
  start,
  runs,
  consoleErrors,
}) => {
  // The server ends with the run: polls of the page after that are refused.
  consoleErrors.allow(/ERR_CONNECTION_|ERR_EMPTY_RESPONSE/);
  const out = join(runs.folder, "with-view");
  const run = start("run", ...LONG, "--view", "--quiet", "--out", out);
  await viewer.open(await run.address());
  await expect(viewer.id("state")).toHaveText(/^(running: frame|finished)/);
  const first = await viewer.position();
  await expect.poll(() => viewer.position()).toBeGreaterThan(first);
  run.signal("SIGINT");
  // 130 after Ctrl-C, or 0 if the run has finished before.
  expect([130, 0]).toContain((await run.ended).code);
  const checked = await reefknot("check", out);
  expect(checked.code, checked.stdout + checked.stderr).toBe(0);
  await viewer.page.close();
});

test("a stopped run is labelled as stopped, and the page follows it after --resume", async ({
  viewer,
  start,
  serve,
  runs,
}) => {
  const out = join(runs.folder, "stopped");
  const run = start("run", ...LONG, "--quiet", "--out", out);
  await exists(framePath(out, 3));
  run.signal("SIGINT");
  await run.ended;
  await viewer.open(await serve(out));
  await expect(viewer.id("state")).toHaveText(/^stopped at frame \d+ of 100; --resume continues$/);
  const stopped = await viewer.page.evaluate(() => window.reefknot.last);
  start("run", ...LONG, "--quiet", "--out", out, "--resume");
  // The page polls stopped runs rarely, so a fast machine may finish the run before.
  await expect(viewer.id("state")).toHaveText(/^(running: frame|finished)/);
  await expect
    .poll(() => viewer.page.evaluate(() => window.reefknot.last))
    .toBeGreaterThan(stopped);
});

// Regression: the graphics of the old run stayed, because its objects were compared with
// themselves.
test("another run in the same folder replaces the first", async ({
  viewer,
  start,
  serve,
  runs,
}) => {
  const out = runs.copy(runs.flag);
  await viewer.open(await serve(out));
  await viewer.scrub(20);
  const ended = await start(
    "run",
    "drape",
    "--quick",
    "--set",
    "parameters.n=14",
    "--quiet",
    "--overwrite",
    "--out",
    out,
  ).ended;
  expect(ended.code).toBe(0);
  await expect(viewer.id("title")).toHaveText(manifestOf(runs.drape).title);
  await expect(viewer.id("state")).toHaveText("finished: 50 frames");
  await viewer.scrub(30);
  await expect(viewer.object("cloth")).toBeVisible();
  await expect(viewer.object("flag")).toHaveCount(0);
  await expect(viewer.value("contacts", "contacts")).toHaveText(
    String(logOf(out)[30 * 2 - 1]!["contacts"]),
  );
});
