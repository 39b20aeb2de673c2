// Errors of runs, server and browser are reported, and the rest of the page works.

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { framePath, manifestOf } from "./support/files";
import { expect, test } from "./support/test";

test("a violated certificate has a red button that seeks it, and a red mark", async ({
  viewer,
  serve,
  runs,
}) => {
  await viewer.open(await serve(runs.drape));
  await expect(viewer.id("violations")).toBeHidden();
  expect(await viewer.redMarks()).toEqual([]);

  const run = runs.copy(runs.drape);
  const { steps_per_frame, frames } = manifestOf(run);
  const [frame, log] = [30, join(run, "run.jsonl")];
  const step = frame * steps_per_frame;
  const lines = readFileSync(log, "utf8").split("\n");
  lines[step - 1] = lines[step - 1]!.replace(/"intersections":(null|\d+)/, '"intersections":2');
  writeFileSync(log, lines.join("\n"));
  await viewer.open(await serve(run));
  const button = viewer.id("violations");
  await expect(button).toBeVisible();
  await expect(button).toHaveText("certificate violated in 1 step ▸");
  const [red, green, blue] = (
    await button.evaluate((element) => getComputedStyle(element).backgroundColor)
  )
    .match(/\d+/g)!
    .map(Number);
  expect(red! - Math.max(green!, blue!)).toBeGreaterThan(60);
  const marks = await viewer.redMarks();
  expect(marks.length).toBeGreaterThan(10);
  for (const mark of marks) expect(Math.abs(mark - frame / frames)).toBeLessThan(0.02);

  await button.click();
  await viewer.isShown(frame);
  await expect(viewer.message).toContainText(`step ${step}: 2 pairs`);
  await viewer.scrub(3);
  await viewer.page.keyboard.press("v");
  await viewer.isShown(frame);
});

test("a damaged frame is reported, and other frames are shown", async ({
  viewer,
  serve,
  runs,
  consoleErrors,
}) => {
  consoleErrors.allow(/422/);
  const run = runs.copy(runs.drape);
  const path = framePath(run, 20);
  const bytes = readFileSync(path);
  for (let at = bytes.length - 400; at < bytes.length - 300; at++) bytes[at]! ^= 0x55;
  writeFileSync(path, bytes);
  await viewer.open(await serve(run));
  await viewer.scrub(19);
  const before = await viewer.picture();
  await viewer.drag(20);
  await expect(viewer.message).toContainText(basename(path));
  await viewer.scrub(21);
  expect((await viewer.picture()).differences(before, 10)).toBeGreaterThan(100);
  await viewer.scrub(19);
  expect((await viewer.picture()).differences(before)).toBe(0);
});

test("a run with a damaged first frame opens with another one and a message", async ({
  viewer,
  serve,
  runs,
  consoleErrors,
}) => {
  consoleErrors.allow(/422/);
  const run = runs.copy(runs.flag);
  writeFileSync(framePath(run, 0), readFileSync(framePath(run, 0)).subarray(0, 500));
  await viewer.open(await serve(run));
  await expect(viewer.message).toContainText("00000.safetensors");
  await viewer.scrub(3);
  await expect(viewer.message).toBeHidden();
  await expect(viewer.id("plots").locator(".plot")).not.toHaveCount(0);
});

// Regression: a frame requested before the pane existed was requested again and again.
test("keys during the opening of a run are harmless", async ({ viewer, serve, runs }) => {
  const { page } = viewer;
  await page.route("**/frames/*", async (route) => {
    await new Promise((wait) => setTimeout(wait, 700));
    await route.continue();
  });
  await page.goto(await serve(runs.flag));
  for (let press = 0; press < 12; press++) {
    await page.keyboard.press("End");
    await page.waitForTimeout(100);
  }
  await viewer.scrub(4);
});

test("the message about a damaged frame disappears with the next frame", async ({
  viewer,
  serve,
  runs,
  consoleErrors,
}) => {
  consoleErrors.allow(/422/);
  const run = runs.copy(runs.flag);
  writeFileSync(framePath(run, 9), readFileSync(framePath(run, 9)).subarray(0, 500));
  await viewer.open(await serve(run));
  await viewer.drag(9);
  await expect(viewer.message).toContainText("00009.safetensors");
  await viewer.scrub(10);
  await expect(viewer.message).toBeHidden({ timeout: 6000 });
});

test("a missing frame is skipped", async ({ viewer, serve, runs }) => {
  const run = runs.copy(runs.drape);
  rmSync(framePath(run, 20));
  await viewer.open(await serve(run));
  await viewer.scrub(19);
  await viewer.drag(20);
  await expect.poll(async () => [19, 21].includes((await viewer.frames())[0]!)).toBe(true);
  await viewer.scrub(21);
  await viewer.scrub(50);
  // Playback does not stop at the gap.
  await viewer.scrub(17);
  await viewer.id("play").click();
  await expect.poll(() => viewer.position()).toBeGreaterThan(24);
  await expect(viewer.message).toBeHidden();
});

test("the deletion of an open run is reported, and loaded frames are still shown", async ({
  viewer,
  serve,
  runs,
  consoleErrors,
}) => {
  consoleErrors.allow(/404|410/);
  const run = runs.copy(runs.drape);
  await viewer.open(await serve(run));
  await viewer.scrub(10);
  const before = await viewer.picture();
  await viewer.scrub(12);
  rmSync(run, { recursive: true });
  await expect(viewer.message).toBeVisible();
  await expect(viewer.message).toContainText(run);
  await expect(viewer.id("state")).toHaveText("gone");
  await viewer.scrub(10);
  expect((await viewer.picture()).differences(before)).toBe(0);
  await viewer.drag(33);
  await expect(viewer.message).toContainText(run);
  await viewer.scrub(12);
});

test("a stopped server is reported with advice", async ({ viewer, start, runs, consoleErrors }) => {
  consoleErrors.allow(/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/);
  const server = start("view", runs.drape, "--no-open");
  await viewer.open(await server.address());
  await viewer.scrub(10);
  await server.end();
  await expect(viewer.message).toContainText(
    "reefknot no longer responds: start `reefknot view` again",
  );
  await viewer.scrub(0);
  await viewer.scrub(10);
});

test("without WebGL the page shows advice, and plots work", async ({ viewer, serve, runs }) => {
  await viewer.page.addInitScript(() => {
    const original = HTMLCanvasElement.prototype.getContext as (
      kind: string,
      ...more: unknown[]
    ) => RenderingContext | null;
    HTMLCanvasElement.prototype.getContext = function (
      this: HTMLCanvasElement,
      kind: string,
      ...more: unknown[]
    ) {
      return kind.startsWith("webgl") ? null : original.call(this, kind, ...more);
    } as typeof HTMLCanvasElement.prototype.getContext;
  });
  await viewer.page.goto(await serve(runs.drape));
  await expect(viewer.message).toContainText("no WebGL 2");
  await expect(viewer.message).toContainText("hardware acceleration");
  await expect(viewer.id("title")).toHaveText(manifestOf(runs.drape).title);
  await expect(viewer.id("state")).toHaveText("finished: 50 frames");
  await viewer.drag(0);
  await expect(viewer.value("contacts", "contacts")).toHaveText("–");
  await viewer.drag(30);
  await expect(viewer.value("contacts", "contacts")).toHaveText(/^\d+$/);
  await expect(viewer.id("clock")).toHaveText("frame 30 of 50 · 0.600 s");
  // All keys work without an image.
  for (const key of [
    "2",
    "3",
    "4",
    "1",
    "c",
    "n",
    "r",
    "w",
    "g",
    "l",
    "f",
    "h",
    "i",
    "a",
    "v",
    "s",
    "Escape",
    "ArrowRight",
  ])
    await viewer.page.keyboard.press(key);
  await viewer.page.keyboard.press("Space");
  await expect.poll(() => viewer.position()).toBeGreaterThan(33);
  await expect(viewer.message).toContainText("no WebGL 2");
});

test("a folder without a run is refused with a message", async ({ start, runs }) => {
  const ended = await start("view", join(runs.folder, "nothing"), "--no-open").ended;
  expect(ended.code).not.toBe(0);
  expect(ended.stderr).toContain("nothing");
});
