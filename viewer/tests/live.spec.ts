// A run that is looked at while it is under way.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { framePath, logOf, manifestOf } from "./support/files";
import { reefknot } from "./support/program";
import { expect, test } from "./support/test";

// Some seconds of work for one thread, here.
const LONG = ["drape", "--set", "parameters.n=26", "--threads", "1"];

async function exists(path: string): Promise<void> {
  await expect.poll(() => existsSync(path), { message: path, intervals: [20] }).toBe(true);
}

test("the page follows a run that is under way to its end", async ({ viewer, start, serve, runs }) => {
  const out = join(runs.folder, "live");
  const run = start("run", ...LONG, "--quiet", "--out", out);
  await exists(framePath(out, 4));
  // Held, so that however fast the machine is there is something left to follow.
  run.signal("SIGSTOP");
  await viewer.open(await serve(out));
  await expect(viewer.id("state")).toHaveText(/^running: frame \d+ of 100, .* left$/);
  await expect(viewer.id("state")).toHaveClass(/running/);
  await expect(viewer.id("live")).toBeVisible();
  await expect(viewer.id("live")).toHaveClass("on");
  const first = await viewer.position();
  expect(first).toBeGreaterThanOrEqual(4);
  await viewer.isShown(first);

  run.signal("SIGCONT");
  await expect.poll(() => viewer.position()).toBeGreaterThan(first);
  const second = await viewer.position();
  await expect.poll(() => viewer.position()).toBeGreaterThan(second);
  // Who looks back stays there, until live is pressed.
  await viewer.scrub(2);
  await expect(viewer.id("live")).not.toHaveClass("on");
  const known = await viewer.page.evaluate(() => window.reefknot.last);
  await expect.poll(() => viewer.page.evaluate(() => window.reefknot.last)).toBeGreaterThan(known);
  expect(await viewer.position()).toBe(2);
  await viewer.id("live").click();
  await expect.poll(() => viewer.position()).toBeGreaterThan(known);

  await run.ended;
  await expect(viewer.id("state")).toHaveText("finished: 100 frames");
  await viewer.isShown(100);
  await expect(viewer.id("live")).toBeHidden();
  await expect(viewer.value("contacts", "contacts")).toHaveText(String(logOf(out).at(-1)!["contacts"]));
  await expect(viewer.message).toBeHidden();
});

test("a run with --view shows itself, and Ctrl-C leaves whole files", async ({ viewer, start, runs }) => {
  const out = join(runs.folder, "with-view");
  const run = start("run", ...LONG, "--view", "--quiet", "--out", out);
  await viewer.open(await run.address());
  await expect(viewer.id("state")).toHaveText(/^(running: frame|finished)/);
  const first = await viewer.position();
  await expect.poll(() => viewer.position()).toBeGreaterThan(first);
  run.signal("SIGINT");
  // 130 as after any Ctrl-C, or 0 if the run was done by then.
  expect([130, 0]).toContain((await run.ended).code);
  const checked = await reefknot("check", out);
  expect(checked.code, checked.stdout + checked.stderr).toBe(0);
  await viewer.page.close();
});

test("a run that was stopped says so, and goes on under the page with --resume", async ({ viewer, start, serve, runs }) => {
  const out = join(runs.folder, "stopped");
  const run = start("run", ...LONG, "--quiet", "--out", out);
  await exists(framePath(out, 3));
  run.signal("SIGINT");
  await run.ended;
  await viewer.open(await serve(out));
  await expect(viewer.id("state")).toHaveText(/^stopped at frame \d+ of 100; --resume goes on$/);
  const stopped = await viewer.page.evaluate(() => window.reefknot.last);
  start("run", ...LONG, "--quiet", "--out", out, "--resume");
  // The page looks seldom at what does not grow, so a fast machine may be done by then.
  await expect(viewer.id("state")).toHaveText(/^(running: frame|finished)/);
  await expect.poll(() => viewer.page.evaluate(() => window.reefknot.last)).toBeGreaterThan(stopped);
});

// The page compares the things of a run with those of its pane's run, which is the same one: the new run is not taken into the picture.
test("another run that takes the folder is shown in place of the first", async ({ viewer, start, serve, runs }) => {
  const out = runs.copy(runs.flag);
  await viewer.open(await serve(out));
  await viewer.scrub(20);
  const ended = await start("run", "drape", "--quick", "--set", "parameters.n=14", "--quiet", "--overwrite", "--out", out).ended;
  expect(ended.code).toBe(0);
  await expect(viewer.id("title")).toHaveText(manifestOf(runs.drape).title);
  await expect(viewer.id("state")).toHaveText("finished: 50 frames");
  await viewer.scrub(30);
  await expect(viewer.object("cloth")).toBeVisible();
  await expect(viewer.object("flag")).toHaveCount(0);
  await expect(viewer.value("contacts", "contacts")).toHaveText(String(logOf(out)[30 * 2 - 1]!["contacts"]));
});
