// The image follows time line, camera and view settings.

import { brief } from "../src/elements";
import { arraysOf, framePath, logOf, manifestOf } from "./support/files";
import { expect, test } from "./support/test";

for (const scene of ["drape", "flag", "knot", "hair"] as const) {
  test(`the page draws ${scene} without an error`, async ({ viewer, serve, runs }) => {
    await viewer.open(await serve(runs[scene]));
    const manifest = manifestOf(runs[scene]);
    await expect(viewer.page).toHaveTitle(`${manifest.scene} – reefknot`);
    await expect(viewer.id("title")).toHaveText(manifest.title);
    await expect(viewer.id("state")).toHaveText(`finished: ${manifest.frames} frames`);
    await expect(viewer.message).toBeHidden();
    const picture = await viewer.picture();
    expect(picture.drawn, "pixels that are not background").toBeGreaterThan(
      0.02 * picture.width * picture.height,
    );
    expect(picture.colours, "shades").toBeGreaterThan(50);
    // Hiding each object must change the image: the ground alone would pass the tests above.
    let all = picture;
    for (const name of manifest.objects) {
      await viewer.object(name).getByRole("checkbox").uncheck();
      const less = await viewer.picture();
      expect(less.differences(all, 4), `pixels of ${name}`).toBeGreaterThan(50);
      all = less;
    }
    // The first object moves in all scenes.
    await viewer.object(manifest.objects[0]!).getByRole("button", { name: "only" }).click();
    const before = await viewer.picture();
    await viewer.scrub(manifest.frames);
    expect(
      (await viewer.picture()).differences(before, 4),
      `pixels of ${manifest.objects[0]} that change`,
    ).toBeGreaterThan(50);
  });
}

test("dragging the time line changes the image, and dragging back restores it", async ({
  viewer,
  serve,
  runs,
}) => {
  await viewer.open(await serve(runs.drape));
  await viewer.scrub(5);
  const before = await viewer.picture();
  await viewer.scrub(30);
  const later = await viewer.picture();
  await expect(viewer.id("clock")).toHaveText("frame 30 of 50 · 0.600 s");
  expect(before.differences(later, 10)).toBeGreaterThan(2000);
  await viewer.scrub(5);
  expect(before.differences(await viewer.picture())).toBe(0);
});

test("keys play, pause, step, jump to the ends and change the speed", async ({
  viewer,
  serve,
  runs,
}) => {
  await viewer.open(await serve(runs.drape));
  const press = (key: string) => viewer.page.keyboard.press(key);
  const last = manifestOf(runs.drape).frames;
  await press("ArrowRight");
  await press("ArrowRight");
  await viewer.isShown(2);
  await press("ArrowLeft");
  await viewer.isShown(1);
  await press("Shift+ArrowRight");
  await viewer.isShown(11);
  await press("End");
  await viewer.isShown(last);
  await press("ArrowRight");
  expect(await viewer.position()).toBe(last);
  await press("Home");
  await viewer.isShown(0);
  await press("ArrowLeft");
  expect(await viewer.position()).toBe(0);

  await expect(viewer.id("speed")).toHaveValue("1");
  await press("[");
  await press("[");
  await expect(viewer.id("speed")).toHaveValue("0.25");
  await press("]");
  await expect(viewer.id("speed")).toHaveValue("0.5");
  for (let i = 0; i < 9; i++) await press("]");
  await expect(viewer.id("speed")).toHaveValue("4");
  for (let i = 0; i < 9; i++) await press("[");
  await expect(viewer.id("speed")).toHaveValue("0.1");

  await press("Space");
  expect(await viewer.isPlaying()).toBe(true);
  await expect.poll(() => viewer.position()).toBeGreaterThan(1);
  await press("Space");
  expect(await viewer.isPlaying()).toBe(false);
  const position = await viewer.position();
  await viewer.page.waitForTimeout(500);
  expect(await viewer.position()).toBe(position);
});

test("playback stops at the end, or starts again with `loop`", async ({ viewer, serve, runs }) => {
  await viewer.open(await serve(runs.flag));
  const last = manifestOf(runs.flag).frames;
  await viewer.id("speed").selectOption("4");
  await viewer.scrub(last - 3);
  await viewer.id("play").click();
  await expect.poll(() => viewer.isPlaying()).toBe(false);
  await viewer.isShown(last);
  await viewer.id("loop").check();
  await viewer.id("play").click();
  // Twice past the end: the first start is that of the button.
  for (let round = 0; round < 2; round++) {
    await expect.poll(() => viewer.position(), { intervals: [20] }).toBeGreaterThan(last / 2);
    await expect.poll(() => viewer.position(), { intervals: [20] }).toBeLessThan(last / 2);
  }
  expect(await viewer.isPlaying()).toBe(true);
});

test("the mouse rotates and zooms, and F fits the whole scene", async ({ viewer, serve, runs }) => {
  await viewer.open(await serve(runs.drape));
  const [front, first] = [await viewer.camera(), await viewer.picture()];
  const distance = (camera: number[]) =>
    Math.hypot(...[0, 1, 2].map((k) => camera[k]! - camera[k + 3]!));
  await viewer.id("canvas").hover();
  await viewer.page.mouse.wheel(0, -600);
  await expect
    .poll(async () => distance(await viewer.camera()))
    .toBeLessThan(0.95 * distance(front));
  expect((await viewer.picture()).differences(first, 10)).toBeGreaterThan(1000);
  await viewer.page.keyboard.press("f");
  // Zooming to the pointer changes the direction slightly.
  expect(distance(await viewer.camera()) / distance(front)).toBeCloseTo(1, 1);
  const { x, y, width, height } = (await viewer.id("canvas").boundingBox())!;
  await viewer.page.mouse.move(x + width / 2, y + height / 2);
  await viewer.page.mouse.down();
  await viewer.page.mouse.move(x + width / 2 + 90, y + height / 2, { steps: 3 });
  await viewer.page.mouse.up();
  expect(
    Math.hypot(...(await viewer.camera()).slice(0, 3).map((value, k) => value - front[k]!)),
  ).toBeGreaterThan(0.1 * distance(front));
  // A drag does not select a vertex.
  await expect(viewer.id("picked")).toHaveCount(0);
});

test("colours by speed and strain have a legend with the range of the frame", async ({
  viewer,
  serve,
  runs,
}) => {
  await viewer.open(await serve(runs.drape));
  await viewer.scrub(14);
  const plain = await viewer.picture();
  await expect(viewer.legend).toBeEmpty();

  await viewer.button("speed").click();
  const speed = await viewer.picture();
  expect(speed.differences(plain, 10)).toBeGreaterThan(2000);
  const velocities = arraysOf(framePath(runs.drape, 14)).get("cloth/velocities")!.values;
  const speeds = Array.from({ length: velocities.length / 3 }, (_, i) =>
    Math.hypot(...velocities.slice(3 * i, 3 * i + 3)),
  );
  await expect(viewer.legend).toContainText("speed");
  await expect(viewer.legend.locator(".ends span")).toHaveText([
    "0",
    `${brief(Math.max(...speeds))} m/s`,
  ]);

  await viewer.button("strain").click();
  const strain = await viewer.picture();
  expect(strain.differences(plain, 10)).toBeGreaterThan(2000);
  expect(strain.differences(speed, 10)).toBeGreaterThan(2000);
  const ends = await viewer.legend.locator(".ends span").allTextContents();
  const [low, zero, high] = ends.map((end) => parseFloat(end));
  expect(ends).toHaveLength(3);
  expect(zero).toBe(0);
  expect(low).toBe(-high!);
  // The log has the largest stretch; the largest compression may exceed it.
  const manifest = manifestOf(runs.drape);
  const stretch = Number(logOf(runs.drape)[14 * manifest.steps_per_frame - 1]!["max_stretch"]);
  expect(high! / 100).toBeGreaterThan(stretch - 1 - 1e-4);

  await viewer.button("object").click();
  expect((await viewer.picture()).differences(plain)).toBe(0);
});

test("an entered range changes colours and legend", async ({ viewer, serve, runs }) => {
  await viewer.open(await serve(runs.drape));
  await viewer.scrub(14);
  const range = viewer.id("panel").locator("input[type=number]");
  for (const [colouring, end] of [
    ["speed", "25 m/s"],
    ["strain", "2500 %"],
  ] as const) {
    await viewer.button(colouring).click();
    const before = await viewer.picture();
    await range.fill("25");
    await range.press("Enter");
    await expect(viewer.legend).toContainText(end);
    expect((await viewer.picture()).differences(before, 10), colouring).toBeGreaterThan(2000);
    await range.fill("");
    await range.press("Enter");
    expect((await viewer.picture()).differences(before), `${colouring} without a range`).toBe(0);
  }
});

test("stick and slip have their colours", async ({ viewer, serve, runs }) => {
  await viewer.open(await serve(runs.drape));
  await viewer.scrub(30);
  const plain = await viewer.picture();
  await viewer.button("stick / slip").click();
  const picture = await viewer.picture();
  await expect(viewer.legend).toHaveText(/open.*stick.*slip/);
  const states = arraysOf(framePath(runs.drape, 30)).get("contact/state")!.values;
  const colours = ["c9ced6", "2f7fd1", "e8742c"];
  for (const state of [1, 2]) {
    if (!states.includes(state)) continue;
    expect(picture.countLike(colours[state]!), `pixels of state ${state}`).toBeGreaterThan(
      plain.countLike(colours[state]!) + 20,
    );
  }
  expect(states.some((state) => state > 0)).toBe(true);
});

test("contacts, normals and forces can be switched on and off", async ({ viewer, serve, runs }) => {
  await viewer.open(await serve(runs.drape));
  await viewer.scrub(30);
  const before = await viewer.picture();
  for (const name of ["contacts", "normals", "forces"]) {
    await viewer.button(name).click();
    await expect(viewer.button(name)).toHaveAttribute("aria-pressed", "true");
    expect((await viewer.picture()).differences(before, 10), name).toBeGreaterThan(50);
    if (name === "forces") await expect(viewer.legend).toHaveText(/arrows: 1 cm per [\d.e-]+ N/);
    await viewer.button(name).click();
    expect((await viewer.picture()).differences(before), `without ${name} again`).toBe(0);
  }
});

test("objects can be hidden, shown alone, and drawn as wireframes", async ({
  viewer,
  serve,
  runs,
}) => {
  await viewer.open(await serve(runs.drape));
  await viewer.scrub(30);
  const all = await viewer.picture();
  // The plane covers the lower part of the image.
  await viewer.object("ground").getByRole("checkbox").uncheck();
  expect((await viewer.picture()).differences(all, 10)).toBeGreaterThan(2000);
  await viewer.object("ground").getByRole("checkbox").check();
  expect((await viewer.picture()).differences(all)).toBe(0);

  await viewer.object("cloth").getByRole("button", { name: "only" }).click();
  await expect(viewer.object("ball").getByRole("checkbox")).not.toBeChecked();
  await expect(viewer.object("ground").getByRole("checkbox")).not.toBeChecked();
  await expect(viewer.object("cloth").getByRole("checkbox")).toBeChecked();
  const alone = await viewer.picture();
  expect(alone.differences(all, 10)).toBeGreaterThan(2000);
  expect(alone.drawn).toBeGreaterThan(2000);
  await viewer.object("cloth").getByRole("button", { name: "only" }).click();
  expect((await viewer.picture()).differences(all)).toBe(0);

  await viewer.button("wireframe").click();
  expect((await viewer.picture()).differences(all, 10)).toBeGreaterThan(2000);
});

test("a copied look restores the image in another visit", async ({
  viewer,
  serve,
  runs,
  context,
}) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const address = await serve(runs.drape);
  await viewer.open(address);
  await viewer.scrub(30);
  await viewer.button("stick / slip").click();
  await viewer.object("ground").getByRole("checkbox").uncheck();
  await viewer.id("canvas").hover();
  await viewer.page.mouse.wheel(0, -300);
  await expect(viewer.id("counter")).not.toBeEmpty();
  const picture = await viewer.picture();
  await viewer.id("copy").click();
  await expect(viewer.message).toContainText("colour=stick");
  const look = await viewer.page.evaluate(() => navigator.clipboard.readText());
  await viewer.open(`${address}?${look}&frame=30`);
  await viewer.isShown(30);
  // The look has five digits of the camera.
  expect((await viewer.picture()).differences(picture, 40)).toBeLessThan(
    0.005 * picture.width * picture.height,
  );
});

test("the image can be saved", async ({ viewer, serve, runs }) => {
  await viewer.open(await serve(runs.flag));
  await viewer.scrub(7);
  const waiting = viewer.page.waitForEvent("download");
  await viewer.page.keyboard.press("s");
  expect((await waiting).suggestedFilename()).toBe("flag-00007.png");
});
