// Numbers on the page equal those in the files of the run.

import { brief } from "../src/elements";
import {
  arraysOf,
  framePath,
  logOf,
  manifestOf,
  probesOf,
  row,
  type Arrays,
} from "./support/files";
import { expect, test } from "./support/test";
import type { Viewer } from "./support/viewer";

const PHASES = ["detect", "assemble", "linear", "contact", "gate", "certify", "write"];

// Expected values of the plots at a frame, by chart and series.
function expected(run: string, frame: number): [string, string, number | null][] {
  const { steps_per_frame } = manifestOf(run);
  const steps = logOf(run).slice(0, frame * steps_per_frame);
  const step = steps.at(-1);
  const flowed = (name: string) =>
    step ? steps.reduce((sum, each) => sum + each.energy_j[name]!, 0) : null;
  const energy = (name: string) => step?.energy_j[name] ?? null;
  const probes = [...probesOf(run)]
    .slice(2)
    .map(([name, values]): [string, string, number | null] => {
      const [, probe, axis, unit] = /^(.*?)(?:\.([xyz]))? \[(.*)\]$/.exec(name)!;
      return [`${probe} (${unit})`, axis ?? probe!, values[frame * steps_per_frame]!];
    });
  return [
    ["contacts", "contacts", step?.["contacts"] ?? null],
    ["iterations", "iterations", step?.["iterations"] ?? null],
    ["error (m)", "contact", step?.["contact_error_m"] ?? null],
    ["error (m)", "momentum", step?.["momentum_error_m"] ?? null],
    ["error (m)", "nonlinear", step?.["nonlinear_error_m"] ?? null],
    ["energy (J)", "kinetic", energy("kinetic")],
    ["energy (J)", "elastic", energy("elastic")],
    ["energy (J)", "gravity", energy("gravity")],
    [
      "energy (J)",
      "sum",
      step ? energy("kinetic")! + energy("elastic")! + energy("gravity")! : null,
    ],
    ...["work", "viscous", "contact", "numerical", "unbalanced"].map((name): [string, string, number | null] => [
      "accumulated energy flow (J)",
      name,
      flowed(name),
    ]),
    ...PHASES.map((name): [string, string, number | null] => [
      "step time (s)",
      name,
      step?.phases_s[name] ?? null,
    ]),
    ["smallest gap (m)", "gap", step?.["min_gap_m"] ?? null],
    ["largest stretch", "stretch", step?.["max_stretch"] ?? null],
    ...probes,
  ];
}

async function shown(viewer: Viewer): Promise<Map<string, string>> {
  const cells = await viewer.page.locator('.plot .value[data-run="0"]').evaluateAll((all) =>
    all.map((cell) => {
      const { chart, series } = (cell as HTMLElement).dataset;
      return [`${chart} / ${series}`, cell.textContent ?? ""] as const;
    }),
  );
  return new Map(cells);
}

for (const [scene, frames] of [
  ["drape", [0, 1, 7, 20, 50]],
  ["flag", [0, 3, 24]],
  ["knot", [1, 4, 8]],
  ["hair", [2, 10]],
] as const) {
  test(`the plots of ${scene} have the values of its log and probes`, async ({
    viewer,
    serve,
    runs,
  }) => {
    await viewer.open(await serve(runs[scene]));
    const charts = new Set(expected(runs[scene], 0).map(([chart]) => chart));
    await expect(viewer.page.locator(".plot")).toHaveCount(charts.size);
    for (const frame of frames) {
      await viewer.scrub(frame);
      const values = Object.fromEntries(
        expected(runs[scene], frame).map(([chart, series, value]) => [
          `${chart} / ${series}`,
          brief(value),
        ]),
      );
      expect(Object.fromEntries(await shown(viewer)), `frame ${frame}`).toEqual(values);
    }
  });
}

test("a click in a plot seeks its time", async ({ viewer, serve, runs }) => {
  await viewer.open(await serve(runs.drape));
  const { frame_rate } = manifestOf(runs.drape);
  const times = logOf(runs.drape).map((step) => Number(step["time"]));
  const plot = viewer.page.locator(".plot .u-over").first();
  for (const part of [0.75, 0.2]) {
    const { width, height } = (await plot.boundingBox())!;
    await plot.click({ position: { x: part * width, y: height / 2 } });
    const frame = frame_rate * (times[0]! + part * (times.at(-1)! - times[0]!));
    // A pixel is a fifth of a frame here, and positions are whole frames.
    expect(Math.abs((await viewer.position()) - frame)).toBeLessThan(1);
    await viewer.isShown(await viewer.position());
    const line = await viewer.page
      .locator(".plot .now")
      .first()
      .evaluate(
        (now) => now.getBoundingClientRect().left - now.parentElement!.getBoundingClientRect().left,
      );
    expect(Math.abs(line - part * width)).toBeLessThan(width / 40);
  }
});

// The vector in a row of the table of the selected vertex.
function vector(text: string | undefined): number[] {
  const numbers = /^(\S+), (\S+), (\S+) /.exec(text ?? "");
  expect(numbers, text).not.toBeNull();
  return numbers!.slice(1).map(Number);
}

function expectNear(found: number[], stored: number[]): void {
  // The page has single precision and shows six digits.
  found.forEach((value, k) =>
    expect(Math.abs(value - stored[k]!), `${found} for ${stored}`).toBeLessThanOrEqual(
      6e-6 * Math.abs(stored[k]!) + 1e-12,
    ),
  );
}

// Total contact force on a vertex.
function contactForce(arrays: Arrays, object: number, vertex: number): number[] | undefined {
  const [objects, vertices] = [
    arrays.get("contact/objects")!.values,
    arrays.get("contact/vertices")!.values,
  ];
  let sum: number[] | undefined;
  objects.forEach((of, side) => {
    if (of !== object || vertices[side] !== vertex) return;
    const sign = side % 2 === 0 ? 1 : -1;
    sum = (sum ?? [0, 0, 0]).map(
      (value, k) => value + sign * row(arrays, "contact/force", side >> 1)[k]!,
    );
  });
  return sum;
}

async function expectVertex(
  viewer: Viewer,
  arrays: Arrays,
  name: string,
  kind: string,
  vertex: number,
): Promise<void> {
  await expect.poll(() => viewer.picked("object")).toBe(`${name} (${kind})`);
  expect(await viewer.picked("index")).toBe(String(vertex));
  expectNear(vector(await viewer.picked("position")), row(arrays, `${name}/points`, vertex));
  const velocity = row(arrays, `${name}/velocities`, vertex);
  expectNear(vector(await viewer.picked("velocity")), velocity);
  expect(await viewer.picked("speed")).toBe(`${brief(Math.hypot(...velocity))} m/s`);
}

test("a click on the cloth shows the values of the vertex under it, in every frame", async ({
  viewer,
  serve,
  runs,
}) => {
  const frame = 12;
  await viewer.open(await serve(runs.drape));
  await viewer.scrub(frame);
  const arrays = arraysOf(framePath(runs.drape, frame));
  const [n, eye] = [14, (await viewer.camera()).slice(0, 3)];
  const away = (vertex: number) =>
    Math.hypot(...row(arrays, "cloth/points", vertex).map((x, k) => x - eye[k]!));
  // Of the inner vertices on the ball, the nearest to the camera is visible.
  const inner = Array.from({ length: n * n }, (_, i) => i).filter((i) =>
    [Math.floor(i / n), i % n].every((place) => place > 0 && place < n - 1),
  );
  const vertex = inner
    .filter((i) => contactForce(arrays, 0, i))
    .sort((a, b) => away(a) - away(b))[0]!;
  const before = await viewer.picture();
  await viewer.page.mouse.click(...(await viewer.place(row(arrays, "cloth/points", vertex))));
  await expectVertex(viewer, arrays, "cloth", "shell", vertex);
  expectNear(vector(await viewer.picked("contact force")), contactForce(arrays, 0, vertex)!);
  expect((await viewer.picture()).countLike("ff2d78", 20), "pixels of the mark").toBeGreaterThan(
    before.countLike("ff2d78", 20) + 10,
  );

  await viewer.scrub(20);
  await expectVertex(viewer, arraysOf(framePath(runs.drape, 20)), "cloth", "shell", vertex);
  await viewer.page.keyboard.press("Escape");
  await expect(viewer.id("picked")).toHaveCount(0);
});

test("a click on a pinned vertex shows its pin force", async ({ viewer, serve, runs }) => {
  const frame = 10;
  await viewer.open(await serve(runs.flag));
  await viewer.scrub(frame);
  const arrays = arraysOf(framePath(runs.flag, frame));
  const pins = arrays.get("pin/vertices")!.values.filter((_, i) => i % 2 === 1);
  const pin = Math.floor(pins.length / 2);
  const vertex = pins[pin]!;
  // Slightly inside of the flag: the pinned vertices are its border.
  const [border, next] = [
    row(arrays, "flag/points", vertex),
    row(arrays, "flag/points", vertex + 1),
  ];
  await viewer.page.mouse.click(
    ...(await viewer.place(border.map((x, k) => 0.8 * x + 0.2 * next[k]!))),
  );
  await expectVertex(viewer, arrays, "flag", "shell", vertex);
  expectNear(vector(await viewer.picked("pin force")), row(arrays, "pin/force", pin));
});

test("a click next to a thin hair selects it, and one on the background deselects it", async ({
  viewer,
  serve,
  runs,
}) => {
  await viewer.open(await serve(runs.hair));
  await viewer.scrub(3);
  const arrays = arraysOf(framePath(runs.hair, 3));
  const points = Array.from({ length: 900 }, (_, i) => row(arrays, "hair/points", i));
  // The highest vertex is not hidden by other hair.
  const places = await Promise.all(points.map((point) => viewer.place(point)));
  const vertex = places.reduce((best, [, y], i) => (y < places[best]![1] ? i : best), 0);
  const [x, y] = places[vertex]!;
  await viewer.page.mouse.click(x, y - 2);
  await expectVertex(viewer, arrays, "hair", "rods", vertex);
  const canvas = (await viewer.id("canvas").boundingBox())!;
  await viewer.page.mouse.click(canvas.x + 3, canvas.y + 3);
  await expect(viewer.id("picked")).toHaveCount(0);
});

test("keys hide the selected object and show it alone", async ({ viewer, serve, runs }) => {
  await viewer.open(await serve(runs.drape));
  await viewer.page.mouse.click(
    ...(await viewer.place(row(arraysOf(framePath(runs.drape, 0)), "cloth/points", 100))),
  );
  await expect.poll(() => viewer.picked("object")).toBe("cloth (shell)");
  await viewer.page.keyboard.press("i");
  await expect(viewer.object("ball").getByRole("checkbox")).not.toBeChecked();
  await viewer.page.keyboard.press("a");
  await expect(viewer.object("ball").getByRole("checkbox")).toBeChecked();
  await viewer.page.keyboard.press("h");
  await expect(viewer.object("cloth").getByRole("checkbox")).not.toBeChecked();
  await expect(viewer.id("picked")).toHaveCount(0);
});
