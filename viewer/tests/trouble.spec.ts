// What is wrong with a run, a server or a browser is said, and does not take the rest along.

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { framePath, manifestOf } from "./support/files";
import { expect, test } from "./support/test";

test("a violated certificate is a red button, a red mark, and a click away", async ({ viewer, serve, runs }) => {
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
  const [red, green, blue] = (await button.evaluate((element) => getComputedStyle(element).backgroundColor)).match(/\d+/g)!.map(Number);
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

test("a damaged frame is named, and the others can still be seen", async ({ viewer, serve, runs, faults }) => {
  faults.allow(/422/);
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

test("a run whose first frame is damaged opens with another, and says so", async ({ viewer, serve, runs, faults }) => {
  faults.allow(/422/);
  const run = runs.copy(runs.flag);
  writeFileSync(framePath(run, 0), readFileSync(framePath(run, 0)).subarray(0, 500));
  await viewer.open(await serve(run));
  await expect(viewer.message).toContainText("00000.safetensors");
  await viewer.scrub(3);
  await expect(viewer.message).toBeHidden();
  await expect(viewer.id("plots").locator(".plot")).not.toHaveCount(0);
});

// A frame that was there before there was anything to show it in was asked for over and over again.
test("keys while a run is being opened do no harm", async ({ viewer, serve, runs }) => {
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

test("the complaint about a damaged frame goes when another frame is shown", async ({ viewer, serve, runs, faults }) => {
  faults.allow(/422/);
  const run = runs.copy(runs.flag);
  writeFileSync(framePath(run, 9), readFileSync(framePath(run, 9)).subarray(0, 500));
  await viewer.open(await serve(run));
  await viewer.drag(9);
  await expect(viewer.message).toContainText("00009.safetensors");
  await viewer.scrub(10);
  await expect(viewer.message).toBeHidden({ timeout: 6000 });
});

test("a frame that is missing in the middle is stepped over", async ({ viewer, serve, runs }) => {
  const run = runs.copy(runs.drape);
  rmSync(framePath(run, 20));
  await viewer.open(await serve(run));
  await viewer.scrub(19);
  await viewer.drag(20);
  await expect.poll(async () => [19, 21].includes((await viewer.frames())[0]!)).toBe(true);
  await viewer.scrub(21);
  await viewer.scrub(50);
  // Playing over the gap does not stop there.
  await viewer.scrub(17);
  await viewer.id("play").click();
  await expect.poll(() => viewer.position()).toBeGreaterThan(24);
  await expect(viewer.message).toBeHidden();
});

test("a run that is deleted while it is open is said to be gone, and loaded frames still show", async ({ viewer, serve, runs, faults }) => {
  faults.allow(/404|410/);
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

test("a server that has ended is missed, and the page says what to do", async ({ viewer, start, runs, faults }) => {
  faults.allow(/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/);
  const server = start("view", runs.drape, "--no-open");
  await viewer.open(await server.address());
  await viewer.scrub(10);
  await server.end();
  await expect(viewer.message).toContainText("reefknot no longer answers: start `reefknot view` again");
  await viewer.scrub(0);
  await viewer.scrub(10);
});

test("without WebGL the page says what to do, and plots work", async ({ viewer, serve, runs }) => {
  await viewer.page.addInitScript(() => {
    const original = HTMLCanvasElement.prototype.getContext as (kind: string, ...more: unknown[]) => RenderingContext | null;
    HTMLCanvasElement.prototype.getContext = function (this: HTMLCanvasElement, kind: string, ...more: unknown[]) {
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
  // Whatever is pressed has nothing to draw, and must not fail for it.
  for (const key of ["2", "3", "4", "1", "c", "n", "r", "w", "g", "l", "f", "h", "i", "a", "v", "s", "Escape", "ArrowRight"]) await viewer.page.keyboard.press(key);
  await viewer.page.keyboard.press("Space");
  await expect.poll(() => viewer.position()).toBeGreaterThan(33);
  await expect(viewer.message).toContainText("no WebGL 2");
});

test("an address that has no run is answered with a sentence", async ({ start, runs }) => {
  const ended = await start("view", join(runs.folder, "nothing"), "--no-open").ended;
  expect(ended.code).not.toBe(0);
  expect(ended.stderr).toContain("nothing");
});
