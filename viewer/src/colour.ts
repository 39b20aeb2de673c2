// Colours of vertices: by object, speed, strain, or stick and slip of contacts.

import type { SceneObject } from "./run";
import type { TensorFile } from "./safetensors";

export type Colouring = "object" | "speed" | "strain" | "stick";
export const COLOURINGS: Record<Colouring, string> = {
  object: "object",
  speed: "speed",
  strain: "strain",
  stick: "stick / slip",
};

export type Rgb = [number, number, number];

const PALETTE: Rgb[] = [
  "d0624a",
  "4c86c6",
  "dba83f",
  "5fa777",
  "8f6fba",
  "cf7f9f",
  "4fadb8",
  "a98057",
].map(rgb);
const GREY: Rgb[] = ["a9b0b8", "8f98a2", "bcc0c4"].map(rgb);
// Contact states: open, stick, slip.
export const STATES: Rgb[] = ["c9ced6", "2f7fd1", "e8742c"].map(rgb);
export const STATE_NAMES = ["open", "stick", "slip"];
const NEUTRAL: Rgb = rgb("d5d8dc");

// Viridis, and a diverging map of blue, white and red, at equal intervals.
const RISING = table([
  "440154",
  "482878",
  "3e4a89",
  "31688e",
  "26828e",
  "1f9e89",
  "35b779",
  "6ece58",
  "b5de2b",
  "fde725",
]);
const DIVERGING = table(["2a5fb4", "6a9ad6", "b5cfe8", "eeeeee", "f2c0a6", "dd7a5c", "b4262c"]);

export function rgb(hex: string): Rgb {
  return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)) as Rgb;
}

export function css([r, g, b]: Rgb): string {
  return `rgb(${r},${g},${b})`;
}

function table(stops: string[]): Uint8Array {
  const colours = stops.map(rgb);
  const entries = new Uint8Array(256 * 3);
  for (let i = 0; i < 256; i++) {
    const place = (i / 255) * (colours.length - 1);
    const low = Math.min(Math.floor(place), colours.length - 2);
    const mix = place - low;
    for (let k = 0; k < 3; k++)
      entries[3 * i + k] = colours[low]![k]! * (1 - mix) + colours[low + 1]![k]! * mix;
  }
  return entries;
}

export function mapOf(colouring: Colouring): Uint8Array {
  return colouring === "strain" ? DIVERGING : RISING;
}

export function colourOfObject(object: SceneObject, objects: SceneObject[]): Rgb {
  const isCollider = object.kind === "collider";
  const alike = objects.filter((other) => (other.kind === "collider") === isCollider);
  const colours = isCollider ? GREY : PALETTE;
  return colours[alike.indexOf(object) % colours.length]!;
}

// Values of a colouring at each vertex; undefined if it does not apply to the object.
export function measure(
  object: SceneObject,
  frame: TensorFile,
  colouring: Colouring,
): Float32Array | undefined {
  if (colouring === "speed") {
    const values = speeds(frame.floats(`${object.name}/velocities`));
    // Colliders at rest are drawn in a neutral colour.
    const isStill = object.kind === "collider" && values?.every((speed) => speed === 0);
    return isStill ? undefined : values;
  }
  const points = frame.floats(`${object.name}/points`);
  if (colouring !== "strain" || !points || object.kind === "collider" || object.kind === "rigid")
    return undefined;
  if (object.edges) return edgeStrains(object.edges, object.rest, points);
  if (object.triangles) return triangleStrains(object.triangles, object.rest, points);
  return undefined;
}

function speeds(velocities: Float32Array | undefined): Float32Array | undefined {
  if (!velocities) return undefined;
  const values = new Float32Array(velocities.length / 3);
  for (let i = 0, j = 0; i < values.length; i++, j += 3) {
    const [x, y, z] = [velocities[j]!, velocities[j + 1]!, velocities[j + 2]!];
    values[i] = Math.sqrt(x * x + y * y + z * z);
  }
  return values;
}

function distance(points: Float32Array, a: number, b: number): number {
  const x = points[3 * a]! - points[3 * b]!;
  const y = points[3 * a + 1]! - points[3 * b + 1]!;
  const z = points[3 * a + 2]! - points[3 * b + 2]!;
  return Math.sqrt(x * x + y * y + z * z);
}

// Keeps the strain of largest magnitude over the elements at a vertex.
function keepLarger(values: Float32Array, vertex: number, strain: number): void {
  if (Math.abs(strain) > Math.abs(values[vertex]!)) values[vertex] = strain;
}

export function edgeStrains(
  edges: Int32Array,
  rest: Float32Array,
  points: Float32Array,
): Float32Array {
  const values = new Float32Array(points.length / 3);
  for (let e = 0; e < edges.length; e += 2) {
    const [a, b] = [edges[e]!, edges[e + 1]!];
    const length = distance(rest, a, b);
    if (length === 0) continue;
    const strain = distance(points, a, b) / length - 1;
    keepLarger(values, a, strain);
    keepLarger(values, b, strain);
  }
  return values;
}

// Principal stretches of a triangle minus 1, from its three lengths at rest and now: with the
// metrics g and G of its two first edges, the stretches squared are the eigenvalues of G⁻¹ g.
export function triangleStrains(
  triangles: Int32Array,
  rest: Float32Array,
  points: Float32Array,
): Float32Array {
  const values = new Float32Array(points.length / 3);
  for (let t = 0; t < triangles.length; t += 3) {
    const [a, b, c] = [triangles[t]!, triangles[t + 1]!, triangles[t + 2]!];
    const [E, F, G] = metric(rest, a, b, c);
    const [e, f, g] = metric(points, a, b, c);
    const area = E * G - F * F;
    if (!(area > 0)) continue;
    const half = (e * G - 2 * f * F + g * E) / (2 * area);
    const root = Math.sqrt(Math.max(0, half * half - (e * g - f * f) / area));
    const [large, small] = [Math.sqrt(half + root) - 1, Math.sqrt(Math.max(0, half - root)) - 1];
    const strain = Math.abs(large) >= Math.abs(small) ? large : small;
    keepLarger(values, a, strain);
    keepLarger(values, b, strain);
    keepLarger(values, c, strain);
  }
  return values;
}

function metric(points: Float32Array, a: number, b: number, c: number): [number, number, number] {
  const [ab, ac, bc] = [distance(points, a, b), distance(points, a, c), distance(points, b, c)];
  return [ab * ab, (ab * ab + ac * ac - bc * bc) / 2, ac * ac];
}

// Largest magnitude of the values, for the range of a colour map.
export function largest(values: Float32Array): number {
  let most = 0;
  for (const value of values) most = Math.max(most, Math.abs(value));
  return most;
}

export interface Paint {
  colouring: Colouring;
  // Values at the vertices, and the value at the end of the colour map.
  values: Float32Array | undefined;
  range: number;
}

// Writes colours of the vertices (red, green, blue, up to 255) for one object.
export function paint(
  target: Uint8Array,
  object: SceneObject,
  own: Rgb,
  frame: TensorFile,
  { colouring, values, range }: Paint,
): void {
  if (values) paintValues(target, values, mapOf(colouring), colouring === "strain", range);
  else if (colouring === "stick") paintStates(target, object, frame);
  else paintOne(target, colouring === "object" ? own : NEUTRAL);
}

function paintOne(target: Uint8Array, [r, g, b]: Rgb): void {
  new Uint32Array(target.buffer, target.byteOffset, target.length / 4).fill(
    ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0,
  );
}

function paintValues(
  target: Uint8Array,
  values: Float32Array,
  map: Uint8Array,
  hasSign: boolean,
  range: number,
): void {
  const scale = range > 0 ? (hasSign ? 127.5 : 255) / range : 0;
  const middle = hasSign ? 127.5 : 0;
  for (let i = 0, j = 0; i < values.length; i++, j += 4) {
    const entry = 3 * Math.round(Math.min(255, Math.max(0, middle + values[i]! * scale)));
    target[j] = map[entry]!;
    target[j + 1] = map[entry + 1]!;
    target[j + 2] = map[entry + 2]!;
    target[j + 3] = 255;
  }
}

// A vertex with a slipping contact is drawn as slip, otherwise one with a sticking contact as
// stick.
function paintStates(target: Uint8Array, object: SceneObject, frame: TensorFile): void {
  paintOne(target, NEUTRAL);
  const [objects, vertices] = [
    frame.integers("contact/objects"),
    frame.integers("contact/vertices"),
  ];
  const states = frame.get("contact/state")?.data;
  if (!objects || !vertices || !states) return;
  const worst = new Uint8Array(target.length / 4);
  for (let side = 0; side < objects.length; side++) {
    const [vertex, state] = [vertices[side]!, states[side >> 1]!];
    if (objects[side] !== object.index || vertex < 0 || state <= worst[vertex]!) continue;
    worst[vertex] = state;
    target.set(STATES[state] ?? NEUTRAL, 4 * vertex);
  }
}
