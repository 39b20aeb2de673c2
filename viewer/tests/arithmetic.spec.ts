// Arithmetic of the page, without a browser.

import { expect, test } from "@playwright/test";
import {
  COLOURINGS,
  STATES,
  css,
  edgeStrains,
  largest,
  measure,
  paint,
  triangleStrains,
  type Colouring,
  type Rgb,
} from "../src/colour";
import { brief, duration } from "../src/elements";
import { sample } from "../src/pane";
import { readLook, unknownKeys, writeLook, type Look } from "../src/look";
import { decades, padded, valueAt } from "../src/plots";
import { remarksOf } from "../src/remarks";
import { arrange, chainsOf } from "../src/rods";
import { Run, type Manifest, type Step, type SceneObject } from "../src/run";
import { TensorFile } from "../src/safetensors";
import { unshuffle, type Source } from "../src/source";
import { split } from "../src/surface";

type Point = [number, number, number];

const flat = (points: Point[]) => new Float32Array(points.flat());
const TRIANGLE: Point[] = [
  [0, 0, 0],
  [1, 0, 0],
  [0, 1, 0],
];
const ONE = new Int32Array([0, 1, 2]);

// A rotation about a general axis, and a translation.
function rotated([x, y, z]: Point): Point {
  const [c, s] = [Math.cos(0.7), Math.sin(0.7)];
  const [u, v] = [c * x - s * y, s * x + c * y];
  return [c * u - s * z + 3, v - 2, s * u + c * z + 1];
}

function strains(map: (point: Point) => Point, rest = TRIANGLE): number[] {
  return [...triangleStrains(ONE, flat(rest), flat(rest.map(map)))];
}

test.describe("strain of triangles", () => {
  test("is the stretch along the stretched axis, at any position and orientation", () => {
    for (const value of strains(([x, y, z]) => [1.2 * x, y, z])) expect(value).toBeCloseTo(0.2, 5);
    for (const value of strains(([x, y, z]) => rotated([x, 1.2 * y, z])))
      expect(value).toBeCloseTo(0.2, 4);
  });

  test("is negative where compression is larger", () => {
    for (const value of strains(([x, y, z]) => [1.1 * x, 0.7 * y, z]))
      expect(value).toBeCloseTo(-0.3, 5);
  });

  test("of a shear is that of its principal stretch", () => {
    // The singular values of [[1, g], [0, 1]] are √(1 + g²/4) ± g/2.
    const g = 0.5;
    for (const value of strains(([x, y, z]) => [x + g * y, y, z]))
      expect(value).toBeCloseTo(Math.sqrt(1 + (g * g) / 4) + g / 2 - 1, 5);
  });

  test("is zero for a rotation", () => {
    for (const value of strains(rotated)) expect(Math.abs(value)).toBeLessThan(1e-5);
  });

  test("does not depend on the shape of the triangle", () => {
    const slanted: Point[] = [
      [0.2, 0.1, 0],
      [1.7, 0.4, 0],
      [0.9, 0.7, 0],
    ];
    for (const value of strains(([x, y, z]) => [1.2 * x, y, z], slanted))
      expect(value).toBeCloseTo(0.2, 4);
  });

  test("at a vertex is the largest of its triangles; degenerate triangles have none", () => {
    const rest = flat([
      [0, 0, 0],
      [1, 0, 0],
      [0, 1, 0],
      [-1, 0, 0],
      [2, 0, 0],
    ]);
    const points = flat([
      [0, 0, 0],
      [1.1, 0, 0],
      [0, 1, 0],
      [-1.3, 0, 0],
      [9, 0, 0],
    ]);
    const values = triangleStrains(new Int32Array([0, 1, 2, 0, 2, 3, 0, 1, 4]), rest, points);
    expect(values[1]).toBeCloseTo(0.1, 5);
    for (const vertex of [0, 2, 3]) expect(values[vertex]).toBeCloseTo(0.3, 5);
    expect(values[4]).toBe(0);
    expect(largest(values)).toBeCloseTo(0.3, 5);
  });
});

test("the strain at a vertex of a rod is the larger one of its two edges", () => {
  const rest = flat([
    [0, 0, 0],
    [1, 0, 0],
    [3, 0, 0],
    [3, 0, 0],
  ]);
  const points = flat([
    [0, 0, 0],
    [0, 1.1, 0],
    [0, 1.1, 1.4],
    [5, 5, 5],
  ]);
  const values = edgeStrains(new Int32Array([0, 1, 1, 2, 2, 3]), rest, points);
  expect([...values].map((value) => Number(value.toFixed(5)))).toEqual([0.1, -0.3, -0.3, 0]);
});

test.describe("drawn vertices", () => {
  test("of a cube are 24, three at each corner", () => {
    const corners = Array.from({ length: 8 }, (_, i): Point => [i & 1, (i >> 1) & 1, (i >> 2) & 1]);
    const sides = [
      [0, 2, 3, 1],
      [4, 5, 7, 6],
      [0, 1, 5, 4],
      [2, 6, 7, 3],
      [0, 4, 6, 2],
      [1, 3, 7, 5],
    ];
    const triangles = new Int32Array(sides.flatMap(([a, b, c, d]) => [a!, b!, c!, a!, c!, d!]));
    const [index, from] = split(triangles, flat(corners));
    expect(from).toHaveLength(24);
    for (let corner = 0; corner < 8; corner++)
      expect(from.filter((vertex) => vertex === corner)).toHaveLength(3);
    expect([...index].map((drawn) => from[drawn])).toEqual([...triangles]);
    expect(index).toHaveLength(triangles.length);
  });

  test("of a flat or slightly bent sheet are the vertices of the sheet", () => {
    const n = 4;
    const triangles: number[] = [];
    for (let i = 0; i + 1 < n; i++) {
      for (let j = 0; j + 1 < n; j++) {
        const a = i * n + j;
        triangles.push(a, a + 1, a + n, a + 1, a + n + 1, a + n);
      }
    }
    for (const bend of [0, 0.1]) {
      const points = Array.from({ length: n * n }, (_, i): Point => [
        i % n,
        Math.floor(i / n),
        bend * (i % n) ** 2,
      ]);
      expect(split(new Int32Array(triangles), flat(points))[1]).toHaveLength(n * n);
    }
  });
});

test.describe("rods", () => {
  test("end where the next edge does not continue the last", () => {
    const chains = chainsOf(new Int32Array([0, 1, 1, 2, 3, 4, 5, 6, 6, 7, 7, 5, 5, 8]));
    expect(chains).toEqual([
      { vertices: [0, 1, 2], firstEdge: 0, isClosed: false },
      { vertices: [3, 4], firstEdge: 2, isClosed: false },
      { vertices: [5, 6, 7, 5], firstEdge: 3, isClosed: true },
      { vertices: [5, 8], firstEdge: 6, isClosed: false },
    ]);
  });

  test("have neighbours at both ends: copies if open, the next vertices around if closed", () => {
    const places = (edges: number[]) =>
      arrange(chainsOf(new Int32Array(edges))).map((array) => [...array]);
    expect(places([4, 5, 5, 6])).toEqual([
      [4, 4, 5, 6, 6],
      [-2, 0, 1, -1, -2],
    ]);
    expect(places([4, 5, 5, 6, 6, 4])).toEqual([
      [6, 4, 5, 6, 4, 5],
      [-2, 0, 1, 2, -1, -2],
    ]);
  });

  test("are all present in a random but reproducible order", () => {
    const edges = new Int32Array(Array.from({ length: 100 }, (_, i) => [2 * i, 2 * i + 1]).flat());
    const [order, edgeOf] = arrange(chainsOf(edges));
    expect(arrange(chainsOf(edges))[0]).toEqual(order);
    expect([...edgeOf].filter((edge) => edge >= 0).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 100 }, (_, i) => i),
    );
    edgeOf.forEach((edge, place) => {
      if (edge >= 0) expect([order[place], order[place + 1]]).toEqual([2 * edge, 2 * edge + 1]);
    });
    const firstTen = [...edgeOf].filter((edge) => edge >= 0).slice(0, 10);
    expect(Math.max(...firstTen) - Math.min(...firstTen)).toBeGreaterThan(30);
  });
});

test("byte planes are joined for any length", () => {
  for (let length = 0; length < 14; length++) {
    const bytes = Uint8Array.from({ length }, (_, i) => i + 1);
    const planes = [0, 1, 2, 3].flatMap((plane) => [...bytes].filter((_, i) => i % 4 === plane));
    expect(new Uint8Array(unshuffle(Uint8Array.from(planes)))).toEqual(bytes);
  }
});

function tensors(header: object, data: ArrayBuffer): ArrayBuffer {
  let text = JSON.stringify(header);
  text = text.padEnd(8 * Math.ceil(text.length / 8));
  const file = new Uint8Array(8 + text.length + data.byteLength);
  new DataView(file.buffer).setUint32(0, text.length, true);
  file.set(new TextEncoder().encode(text), 8);
  file.set(new Uint8Array(data), 8 + text.length);
  return file.buffer;
}

test.describe("arrays", () => {
  const numbers = new ArrayBuffer(32);
  new Float64Array(numbers, 0, 1).set([0.1]);
  new Float32Array(numbers, 8, 3).set([1, 2, 3]);
  new Int32Array(numbers, 20, 2).set([-1, 7]);
  new Uint8Array(numbers, 28, 2).set([1, 255]);
  const header = {
    __metadata__: { checksum: "0" },
    wide: { dtype: "F64", shape: [1], data_offsets: [0, 8] },
    points: { dtype: "F32", shape: [1, 3], data_offsets: [8, 20] },
    pairs: { dtype: "I32", shape: [1, 2], data_offsets: [20, 28] },
    states: { dtype: "U8", shape: [2], data_offsets: [28, 30] },
  };

  test("of all data types are read", () => {
    const file = TensorFile.read(tensors(header, numbers));
    expect([...file.names()]).toEqual(["wide", "points", "pairs", "states"]);
    expect(file.floats("wide")![0]).toBeCloseTo(0.1, 7);
    expect(file.floats("points")).toEqual(new Float32Array([1, 2, 3]));
    expect(file.integers("pairs")).toEqual(new Int32Array([-1, 7]));
    expect(file.get("states")).toEqual({ shape: [2], data: new Uint8Array([1, 255]) });
    // Arrays of another type are undefined.
    expect(file.integers("points")).toBeUndefined();
    expect(file.floats("nothing")).toBeUndefined();
  });

  test("of a file truncated anywhere are refused", () => {
    const whole = tensors(header, numbers);
    for (let length = 0; length < whole.byteLength - 2; length++)
      expect(() => TensorFile.read(whole.slice(0, length)), `${length} bytes`).toThrow();
    expect(() => TensorFile.read(whole.slice(0, whole.byteLength - 4))).toThrow("states");
  });

  test("of an unknown data type are refused with its name", () => {
    expect(() =>
      TensorFile.read(tensors({ x: { dtype: "BF16", shape: [1], data_offsets: [0, 2] } }, numbers)),
    ).toThrow("BF16");
  });
});

test.describe("colours of vertices", () => {
  const object: SceneObject = {
    index: 1,
    name: "cloth",
    kind: "shell",
    rest: new Float32Array(12),
    triangles: undefined,
    edges: undefined,
    radius: [0, 0],
  };
  const own: Rgb = [1, 2, 3];
  const data = new ArrayBuffer(48 + 24 + 24 + 4);
  new Float32Array(data, 0, 12).set([0, 0, 0, 0, 2, 0, 0, 0, -4, 3, 0, 0]);
  // Three contacts: vertex 0 of the cloth sticks, vertex 2 sticks and slips; the other sides belong
  // to another object.
  new Int32Array(data, 48, 6).set([1, 0, 0, 1, 1, 0]);
  new Int32Array(data, 72, 6).set([0, 3, -1, 2, 2, 1]);
  new Uint8Array(data, 96, 3).set([1, 2, 1]);
  const frame = TensorFile.read(
    tensors(
      {
        "cloth/velocities": { dtype: "F32", shape: [4, 3], data_offsets: [0, 48] },
        "contact/objects": { dtype: "I32", shape: [3, 2], data_offsets: [48, 72] },
        "contact/vertices": { dtype: "I32", shape: [3, 2], data_offsets: [72, 96] },
        "contact/state": { dtype: "U8", shape: [3], data_offsets: [96, 99] },
      },
      data,
    ),
  );
  const painted = (colouring: Colouring, range = 0) => {
    const target = new Uint8Array(16);
    paint(target, object, own, frame, {
      colouring,
      range,
      values: measure(object, frame, colouring),
    });
    return [0, 1, 2, 3].map((vertex) =>
      css([...target.subarray(4 * vertex, 4 * vertex + 3)] as Rgb),
    );
  };

  test("are those of the object by default", () => {
    expect(painted("object")).toEqual(Array(4).fill(css(own)));
  });

  test("go from dark to light with the speed, and are clamped to the range", () => {
    const [still, some, fast, middle] = painted("speed", 4);
    expect(new Set([still, some, fast, middle]).size).toBe(4);
    expect(still).toBe("rgb(68,1,84)");
    expect(fast).toBe("rgb(253,231,37)");
    expect(painted("speed", 2)[1]).toBe(fast);
    expect(painted("speed", 2)[3]).toBe(fast);
  });

  test("show vertices that stick, and those with any slipping contact", () => {
    const [first, second, third, fourth] = painted("stick");
    expect(first).toBe(css(STATES[1]!));
    expect(third).toBe(css(STATES[2]!));
    expect(second).toBe(fourth);
    expect([css(STATES[1]!), css(STATES[2]!)]).not.toContain(second);
  });
});

test.describe("a look", () => {
  test("is the same after writing and reading", () => {
    const looks: Partial<Look>[] = [
      {},
      { colour: "speed", range: 2.5, contacts: true, arrows: 3 },
      {
        colour: "strain",
        normals: true,
        forces: true,
        wireframe: true,
        grid: false,
        shadows: false,
      },
      {
        colour: "stick",
        hidden: new Set(["cloth", "a ball & more", "100%"]),
        camera: [1, -2.5, 0.125, 0, 0, 1e-3],
      },
    ];
    for (const look of looks) {
      const whole: Look = { ...readLook(""), ...look };
      expect(readLook(writeLook(whole))).toEqual(whole);
      expect(unknownKeys(writeLook(whole))).toEqual([]);
    }
    expect(writeLook(readLook(""))).toBe("");
  });

  test("ignores invalid settings and lists unknown ones", () => {
    const standard = readLook("");
    expect(readLook("colour=plaid&range=-3&camera=1,2,3&arrows=x&sparkle=1")).toEqual(standard);
    expect(readLook("camera=1,2,3,4,5,x")).toEqual(standard);
    expect(unknownKeys("colour=plaid&sparkle=1&range=2&frame=3")).toEqual([
      "sparkle",
      "colour=plaid",
    ]);
    expect(readLook("color=speed").colour).toBe("speed");
  });

  // Regression: `in` also finds inherited properties, so colour=constructor was accepted.
  test("has no colouring with the name of an inherited property", () => {
    for (const word of ["constructor", "toString"]) {
      expect(Object.keys(COLOURINGS)).toContain(
        readLook(`colour=${word}`).colour satisfies Colouring,
      );
      expect(unknownKeys(`colour=${word}`)).toEqual([`colour=${word}`]);
    }
  });
});

test("the value at a time is that of the last step that has ended", () => {
  const [times, values] = [
    [0.1, 0.2, 0.3],
    [1, null, 3],
  ];
  expect(valueAt(times, values, 0)).toBeNull();
  expect(valueAt(times, values, 0.0999)).toBeNull();
  expect(valueAt(times, values, 0.1)).toBe(1);
  // The time of a frame may be a rounding error less than that of its step.
  expect(valueAt(times, values, 0.3 - 1e-12)).toBe(3);
  expect(valueAt(times, values, 0.25)).toBeNull();
  expect(valueAt(times, values, 9)).toBe(3);
  expect(valueAt([], [], 1)).toBeNull();
});

test("the axis of a plot contains all values with a margin", () => {
  for (const [least, most] of [
    [-2, 3],
    [5, 5],
    [-1e-12, 1e-12],
    [1e6, 1e6 + 1e-4],
    [0, 0],
  ] as const) {
    const [low, high] = padded(least, most);
    expect(low).toBeLessThanOrEqual(least);
    expect(high).toBeGreaterThanOrEqual(most);
    expect(high).toBeGreaterThan(low);
  }
  // Noise in the last digits is not scaled to the height of the plot.
  const [low, high] = padded(1e6, 1e6 + 1e-4);
  expect(high - low).toBeGreaterThan(0.5);
  expect(padded(null, null)).toEqual([0, 1]);
});

test("the axis of a logarithmic plot has whole decades, at most 16", () => {
  expect(decades(2e-7, 3e-3)[0]).toBeCloseTo(1e-7, 12);
  expect(decades(2e-7, 3e-3)[1]).toBeCloseTo(1e-2, 12);
  expect(decades(1e-300, 1)[0]).toBeCloseTo(1e-16, 20);
  for (const value of [1e-9, 0.5, 1, 7]) {
    const [low, high] = decades(value, value);
    expect(low).toBeLessThanOrEqual(value);
    expect(high).toBeGreaterThanOrEqual(value);
    expect(high).toBeGreaterThan(low);
  }
  expect(decades(null, null)).toEqual([1e-9, 1]);
});

test.describe("remarks", () => {
  const regular: Step = {
    step: 1,
    time: 0.01,
    contacts: 0,
    iterations: 1,
    halvings: 0,
    failsafe: false,
    intersections: 0,
    min_gap_m: null,
    contact_error_m: 1e-7,
    momentum_error_m: 0,
    nonlinear_error_m: null,
    max_stretch: 1,
    energy_j: {},
    wall_s: 0.1,
    phases_s: {},
  };

  function remarks(steps: Partial<Step>[]) {
    const run = new Run({} as Source, 0, "run");
    run.manifest = { steps_per_frame: 4, tolerance_m: 1e-6 } as Manifest;
    run.steps = steps.map((step, i) => ({ ...regular, step: i + 1, ...step }));
    return remarksOf(run);
  }

  test("are not made for regular steps", () => {
    expect(
      remarks([{}, { intersections: null }, { contact_error_m: null }, { contact_error_m: 1e-6 }]),
    ).toEqual([]);
  });

  test("report violated certificates at the first frame after their step", () => {
    const found = remarks([
      {},
      {},
      {},
      {},
      { intersections: 2 },
      {},
      {},
      { intersections: 1, failsafe: true },
    ]);
    expect(found.map(({ frame, step, isViolation }) => [frame, step, isViolation])).toEqual([
      [2, 5, true],
      [2, 8, true],
    ]);
    expect(found[0]!.sentence).toContain("2 pairs");
    expect(found[1]!.sentence).toContain("1 pair ");
  });

  test("report fail-safe, halving and large errors, which are not violations", () => {
    const found = remarks([
      { failsafe: true },
      { halvings: 1 },
      { contact_error_m: 1e-4 },
      { failsafe: true, halvings: 2 },
    ]);
    expect(found.map(({ isViolation }) => isViolation)).toEqual([false, false, false, false]);
    expect(found.map(({ frame }) => frame)).toEqual([1, 1, 1, 1]);
    expect(found[2]!.sentence).toContain("1.0e-4 m");
    expect(found[3]!.sentence).toMatch(/fail-safe.*halved/);
  });
});

test("numbers and durations are short and readable", () => {
  const texts: [number | null | undefined, string][] = [
    [null, "–"],
    [undefined, "–"],
    [NaN, "–"],
    [0, "0"],
    [12345, "12345"],
    [123456, "1.23e5"],
    [-0.00012345, "-1.23e-4"],
    [3.14159, "3.142"],
    [0.001, "0.001"],
  ];
  for (const [value, text] of texts) expect(brief(value)).toBe(text);
  const durations: [number, string][] = [
    [0.2, "less than 1 s"],
    [42.4, "42 s"],
    [61, "1 min 1 s"],
    [7260, "2 h 1 min"],
  ];
  for (const [seconds, text] of durations) expect(duration(seconds)).toBe(text);
});

// Regression: rounding after the choice of units returned 60 s for 59.7 s, and 1 min 60 s for 119.6
// s.
test("a duration never has 60 seconds or 60 minutes", () => {
  for (const seconds of [59.7, 119.6, 3599.8, 7199])
    expect(duration(seconds)).not.toMatch(/\b60 (s|min)/);
});

// Regression: every 160th point of rods with 30 vertices is never a tip, and the view cut tips off.
test("sample points of hair include its tips", () => {
  const [rods, vertices] = [16_000, 30];
  const points = new Float32Array(3 * rods * vertices);
  for (let rod = 0; rod < rods; rod++) {
    const [z, turn] = [(2 * rod + 1) / rods - 1, 2.4 * rod];
    const across = Math.sqrt(1 - z * z);
    for (let vertex = 0; vertex < vertices; vertex++) {
      const away = 1 + vertex / (vertices - 1);
      points.set(
        [away * across * Math.cos(turn), away * across * Math.sin(turn), away * z],
        3 * (rod * vertices + vertex),
      );
    }
  }
  const chosen = sample(points);
  expect(chosen.length).toBeLessThan(3100);
  const farthest = (x: number, y: number, z: number) =>
    Math.max(...chosen.map((point) => x * point.x + y * point.y + z * point.z));
  for (const [x, y, z] of [
    [0, 0, 1],
    [0, -1, 0],
    [1, 0, 0],
    [-0.577, 0.577, 0.577],
  ] as Point[])
    expect(farthest(x, y, z)).toBeGreaterThan(1.995);
  // In any other direction there is a tip nearby.
  expect(farthest(0.267, 0.535, 0.802)).toBeGreaterThan(1.95);
});
