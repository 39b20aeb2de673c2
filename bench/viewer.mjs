// Measures the viewer: time to the first image, and playback rate. Prints JSON; `renderer` is the
// graphics driver.
//
// Usage, after `npm ci` in viewer/: node bench/viewer.mjs REEFKNOT RUN
// The browser is $CHROMIUM, or /usr/bin/chromium.

import { spawn } from "node:child_process";
import { get } from "node:http";
import { createRequire } from "node:module";

const { chromium } = createRequire(new URL("../viewer/package.json", import.meta.url))(
  "@playwright/test",
);
const [program, run] = process.argv.slice(2);
// Duration of a playback (ms).
const PLAYBACK_TIME = 8000;

const flags =
  "--no-sandbox --enable-unsafe-swiftshader --ignore-gpu-blocklist --disable-quic " +
  "--no-first-run --disable-background-networking --disable-component-update --disable-sync";
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: flags.split(" "),
});
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });

const started = performance.now();
const view = spawn(program, ["view", run, "--no-open"]);
const address = await new Promise((resolve) => {
  view.stdout.on("data", (text) => {
    const found = /http:\S+/.exec(String(text));
    if (found) resolve(found[0]);
  });
});
const served = performance.now();
await page.goto(address);
const isDrawn = () => globalThis.reefknot?.stage.pictures.costs.length >= 1;
await page.waitForFunction(isDrawn, { timeout: 120_000, polling: 10 });
const drawn = performance.now();
const isComplete = () => globalThis.reefknot.stage.fullCost > 0;
await page.waitForFunction(isComplete, { timeout: 120_000, polling: 10 });
const whole = performance.now();

// Median response time for a frame, on first and second request (ms).
const { frames } = await (await fetch(`${address}runs/0/status.json`)).json();
const request = (frame) =>
  new Promise((resolve) => {
    const sent = performance.now();
    get(`${address}runs/0/frames/${frame}.safetensors`, (answer) =>
      answer.on("end", () => resolve(performance.now() - sent)).resume(),
    );
  });
const medianTime = async () => {
  const times = [];
  for (let frame = frames[0][0]; frame <= frames[0][1]; frame++) times.push(await request(frame));
  return times.sort((a, b) => a - b)[times.length >> 1];
};
const requests = { first_time: await medianTime(), second_time: await medianTime() };

// Playback with all frames loaded: one playback before the measurement loads them.
const measure = async (speed) => {
  await page.evaluate((value) => {
    document.getElementById("loop").checked = true;
    const select = document.getElementById("speed");
    select.value = String(value);
    select.dispatchEvent(new Event("change"));
    globalThis.reefknot.play();
  }, speed);
  await page.waitForTimeout(PLAYBACK_TIME);
  await page.evaluate(() => globalThis.reefknot.stage.resetTimes());
  await page.waitForTimeout(PLAYBACK_TIME);
  return page.evaluate(() => {
    const { stage } = globalThis.reefknot;
    const summary = (times) => {
      const sorted = [...times].sort((a, b) => a - b);
      const mean = sorted.reduce((sum, time) => sum + time, 0) / sorted.length;
      return {
        mean,
        median: sorted[sorted.length >> 1],
        worst_of_20: sorted[Math.floor(0.95 * sorted.length)],
        pictures: sorted.length,
      };
    };
    const { costs, intervals } = stage.pictures;
    globalThis.reefknot.pause();
    return { cost_ms: summary(costs), interval_ms: summary(intervals), rods_drawn: stage.share };
  });
};
const environment = await page.evaluate(() => {
  const gl = globalThis.reefknot.stage.renderer.getContext();
  const names = gl.getExtension("WEBGL_debug_renderer_info");
  const objects = globalThis.reefknot.runs[0].objects;
  return {
    renderer: gl.getParameter(names.UNMASKED_RENDERER_WEBGL),
    edges: objects.reduce((sum, object) => sum + (object.edges?.length ?? 0) / 2, 0),
  };
});
const fullCost = await page.evaluate(() => globalThis.reefknot.stage.fullCost);
const result = {
  run,
  ...environment,
  address_ms: served - started,
  first_picture_ms: drawn - started,
  whole_picture_ms: whole - started,
  cost_of_a_whole_picture_ms: fullCost,
  frame_request_ms: requests,
  playing: await measure(1),
  playing_twice_as_fast: await measure(2),
};
console.log(
  JSON.stringify(
    result,
    (_, value) => (typeof value === "number" ? Number(value.toPrecision(4)) : value),
    2,
  ),
);
await browser.close();
view.kill();
