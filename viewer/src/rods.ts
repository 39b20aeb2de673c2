// Draws rods: as tubes, or as strips that face the eye where tubes would be a pixel thin. The points of all rods are one
// texture, and what is drawn are instances of one mesh of many segments that looks its points up there. So a frame
// sends each point once, and neighbouring segments of a strip share their corners.

import {
  BufferAttribute,
  DataTexture,
  DoubleSide,
  FloatType,
  InstancedBufferGeometry,
  Mesh,
  MeshDepthMaterial,
  MeshLambertMaterial,
  RGBADepthPacking,
  Vector2,
  Vector3,
} from "three";
import type { Thing } from "./run";
import { tinted } from "./surface";

const SIDES = 12;
// Places in a row of the textures, and in an instance of a strip and of a tube.
const ROW = 2048;
const STRIP_BLOCK = 2048;
const TUBE_BLOCK = 128;
// Tubes are drawn where they are this wide on the screen at the nearest place, in pixels across the radius.
const TUBE_PIXELS = 1.6;

const VERTEX = /* glsl */ `
attribute float rodPlace;
uniform highp sampler2D rodPoints;
uniform highp sampler2D rodTints;
uniform highp sampler2D rodDirectors;
uniform vec2 rodRadius;
uniform vec3 rodEye;
uniform vec3 rodLight;
// The width of a pixel at distance 1, and what the radius is multiplied by.
uniform float rodPixel;
uniform float rodWiden;
vec3 rodNormal;
vec3 rodTint;
vec3 unit(vec3 v, vec3 otherwise) {
  float l = length(v);
  return l > 1e-12 ? v / l : otherwise;
}
ivec2 texel(int place) { return ivec2(place % ${ROW}, place / ${ROW}); }
vec4 rodAt(int place) { return texelFetch(rodPoints, texel(place), 0); }
#ifdef ROD_TUBE
vec3 rodPoint() {
  int place = gl_InstanceID * ${TUBE_BLOCK} + int(rodPlace) + 1;
  vec4 begin = rodAt(place);
  if (begin.w < 0.5) return vec3(0.0);
  vec3 end = rodAt(place + 1).xyz;
  vec3 t = unit(end - begin.xyz, vec3(0.0, 0.0, 1.0));
  bool isEnd = position.z > 0.5;
  vec3 here = isEnd ? end : begin.xyz;
  // Neighbouring edges meet in the plane between them.
  vec3 other = isEnd ? unit(rodAt(place + 2).xyz - end, t) : unit(begin.xyz - rodAt(place - 1).xyz, t);
  vec3 between = unit(t + other, t);
#ifdef ROD_FLAT
  vec3 u = texelFetch(rodDirectors, texel(place), 0).xyz;
#else
  vec3 u = normalize(cross(t, abs(t.z) < 0.9 ? vec3(0.0, 0.0, 1.0) : vec3(1.0, 0.0, 0.0)));
#endif
  vec3 w = cross(t, u);
  vec3 across = (u * position.x * rodRadius.x + w * position.y * rodRadius.y) * rodWiden;
  rodTint = texelFetch(rodTints, texel(isEnd ? place + 1 : place), 0).rgb;
  vec3 outwards = u * position.x / rodRadius.x + w * position.y / rodRadius.y;
  vec3 meeting = here + across - t * (dot(across, between) / max(dot(t, between), 0.35));
  if (position.z < -0.5 || position.z > 1.5) {
    // The ends of a rod are round, as they are for contact; within a rod a flat wall closes what corners leave open.
    vec3 beyond = isEnd ? rodAt(place + 2).xyz : rodAt(place - 1).xyz;
    vec3 away = isEnd ? t : -t;
    float radius = 0.5 * (rodRadius.x + rodRadius.y);
    float rise = isEnd ? position.z - 2.0 : -1.0 - position.z;
    rodNormal = unit(outwards + away * rise / radius, away);
    return beyond != here ? meeting : here + across + away * rise * radius * rodWiden;
  }
  // Round across the corner between two edges, too.
  rodNormal = normalize(outwards - between * dot(outwards, between));
  return meeting;
}
#else
vec3 rodPoint() {
  int place = gl_InstanceID * ${STRIP_BLOCK} + int(rodPlace);
  vec4 here = rodAt(place);
  vec3 view = rodEye - here.xyz;
  float away = length(view);
  view /= max(away, 1e-12);
  vec3 along = unit(rodAt(place + 1).xyz - rodAt(max(place - 1, 0)).xyz, vec3(0.0, 0.0, 1.0));
  vec3 side = unit(cross(along, view), vec3(1.0, 0.0, 0.0));
  float width = max(rodRadius.x * rodWiden, 0.5 * rodPixel * away);
  // A thin fibre is as bright as light falls across it (Kajiya and Kay).
  vec3 lit = rodLight - along * dot(rodLight, along);
  rodNormal = unit(0.55 * cross(side, along) + 0.6 * side * position.x + 0.7 * lit, view);
  rodTint = texelFetch(rodTints, texel(place), 0).rgb;
  // Between two rods the strip has no width.
  return here.xyz + side * (here.w < 0.0 ? 0.0 : position.x * width);
}
#endif
`;

export class Rods {
  readonly mesh: Mesh;
  // Strips face the eye, not the light: their shadow is that of both sides.
  readonly material = new MeshLambertMaterial({ shadowSide: DoubleSide });
  private readonly order: Int32Array;
  private readonly edgeOf: Int32Array;
  private readonly points: DataTexture;
  private readonly tints: DataTexture;
  private readonly directors: DataTexture | undefined;
  private readonly tube = blocks(tubeShape(), TUBE_BLOCK);
  private readonly strip = blocks(stripShape(), 1);
  private readonly shadow = new MeshDepthMaterial({ depthPacking: RGBADepthPacking });
  private readonly uniforms;
  private isTube = false;
  private filledPoints = 0;
  private filledTints = 0;
  private current: { points?: Float32Array; directors?: Float32Array | undefined; colours?: Uint8Array } = {};

  // `light` is where light comes from.
  constructor(
    readonly thing: Thing,
    light: Vector3,
  ) {
    [this.order, this.edgeOf] = arrange(chainsOf(thing.edges!));
    // A row more than there are points: an instance may look beyond the last, and must find no rod there.
    const rows = Math.ceil(this.order.length / ROW) + 1;
    const floats = () => new DataTexture(new Float32Array(4 * ROW * rows).fill(-1), ROW, rows, undefined, FloatType);
    this.points = floats();
    this.tints = new DataTexture(new Uint8Array(4 * ROW * rows), ROW, rows);
    const [first, second] = thing.radius;
    const isFlat = Math.abs(first - second) > 1e-3 * Math.max(first, second);
    if (isFlat) this.directors = floats();
    this.uniforms = {
      rodPoints: { value: this.points },
      rodTints: { value: this.tints },
      rodDirectors: { value: this.directors ?? null },
      rodRadius: { value: new Vector2(first, second) },
      rodEye: { value: new Vector3() },
      rodLight: { value: light },
      rodPixel: { value: 1e-3 },
      rodWiden: { value: 1 },
    };
    this.define(this.material);
    this.define(this.shadow);
    this.mesh = new Mesh(this.strip, this.material);
    this.mesh.customDepthMaterial = this.shadow;
    this.mesh.frustumCulled = false;
    this.mesh.castShadow = this.mesh.receiveShadow = true;
    this.setTube(isFlat);
  }

  private define(material: MeshLambertMaterial | MeshDepthMaterial): void {
    material.defines = this.directors ? { ROD_FLAT: "" } : {};
    if (material instanceof MeshLambertMaterial) tinted(material, VERTEX);
    const before = material.onBeforeCompile;
    material.onBeforeCompile = (shader, renderer) => {
      before.call(material, shader, renderer);
      Object.assign(shader.uniforms, this.uniforms);
      const isShadow = material === this.shadow;
      if (isShadow) shader.vertexShader = shader.vertexShader.replace("#include <common>", `#include <common>\n${VERTEX}`);
      shader.vertexShader = shader.vertexShader
        .replace("void main() {", `void main() {\n\tvec3 rodHere = rodPoint();${isShadow ? "" : "\n\tvTint = rodTint;"}`)
        .replace("#include <beginnormal_vertex>", "vec3 objectNormal = rodNormal;")
        .replace("#include <begin_vertex>", "vec3 transformed = rodHere;");
    };
  }

  move(points: Float32Array, directors: Float32Array | undefined): void {
    this.current.points = points;
    this.current.directors = directors;
    this.filledPoints = 0;
  }

  tint(colours: Uint8Array): void {
    this.current.colours = colours;
    this.filledTints = 0;
  }

  // Chooses tubes or strips by how near the eye is, and fills in what is drawn of the last points and colours.
  // `share` is the part of all rods that is drawn; those that are left are wider, so that hair stays as dense.
  prepareToDraw(eye: Vector3, pixel: number, nearest: number, share: number): void {
    const { rodEye, rodPixel, rodWiden } = this.uniforms;
    rodEye.value.copy(eye);
    rodPixel.value = pixel;
    rodWiden.value = Math.min(4, 1 / share);
    this.setTube(this.directors !== undefined || Math.max(...this.thing.radius) > TUBE_PIXELS * pixel * nearest);
    const block = this.isTube ? TUBE_BLOCK : STRIP_BLOCK;
    const count = Math.ceil((this.order.length * share) / block);
    this.fill(Math.min(this.order.length, count * block + 3));
    this.tube.instanceCount = this.strip.instanceCount = count;
  }

  private setTube(isTube: boolean): void {
    if (isTube === this.isTube) return;
    this.isTube = isTube;
    this.mesh.geometry = isTube ? this.tube : this.strip;
    for (const material of [this.material, this.shadow]) {
      const { ROD_TUBE: _, ...others } = (material.defines ?? {}) as Record<string, string>;
      material.defines = isTube ? { ...others, ROD_TUBE: "" } : others;
      material.needsUpdate = true;
    }
  }

  private fill(end: number): void {
    const { points, directors, colours } = this.current;
    if (points && end > this.filledPoints) {
      const target = this.points.image.data as Float32Array;
      for (let i = this.filledPoints, j = 4 * i; i < end; i++, j += 4) {
        const vertex = 3 * this.order[i]!;
        target[j] = points[vertex]!;
        target[j + 1] = points[vertex + 1]!;
        target[j + 2] = points[vertex + 2]!;
        target[j + 3] = this.edgeOf[i]! >= 0 ? 1 : this.edgeOf[i]! + 1;
      }
      if (this.directors && directors) this.fillDirectors(directors, end);
      for (const texture of [this.points, this.directors]) upload(texture, this.filledPoints, end);
      this.filledPoints = end;
    }
    if (colours && end > this.filledTints) {
      const target = new Uint32Array((this.tints.image.data as Uint8Array).buffer);
      const source = new Uint32Array(colours.buffer, colours.byteOffset, colours.length / 4);
      for (let i = this.filledTints; i < end; i++) target[i] = source[this.order[i]!]!;
      upload(this.tints, this.filledTints, end);
      this.filledTints = end;
    }
  }

  private fillDirectors(directors: Float32Array, end: number): void {
    const target = this.directors!.image.data as Float32Array;
    for (let i = this.filledPoints; i < end; i++) {
      const edge = this.edgeOf[i]!;
      if (edge >= 0) target.set(directors.subarray(3 * edge, 3 * edge + 3), 4 * i);
    }
  }

  dispose(): void {
    for (const part of [this.tube, this.strip, this.material, this.shadow, this.points, this.tints, this.directors]) part?.dispose();
  }
}

// Sends the rows that hold these places. three.js sends ranges row by row, so many rows go as one whole.
function upload(texture: DataTexture | undefined, begin: number, end: number): void {
  if (!texture) return;
  const [first, last] = [Math.floor(begin / ROW), Math.ceil(end / ROW)];
  texture.clearUpdateRanges();
  if (last - first <= 0.5 * texture.height) for (let row = first; row < last; row++) texture.addUpdateRange(4 * ROW * row, 4 * ROW);
  texture.needsUpdate = true;
}

interface Chain {
  vertices: number[];
  firstEdge: number;
  isClosed: boolean;
}

// Edges come along each rod, so a rod ends where the next edge does not go on.
export function chainsOf(edges: Int32Array): Chain[] {
  const chains: Chain[] = [];
  for (let e = 0; e < edges.length / 2; e++) {
    const [a, b] = [edges[2 * e]!, edges[2 * e + 1]!];
    const last = chains.at(-1);
    if (last && !last.isClosed && last.vertices.at(-1) === a) {
      last.vertices.push(b);
      last.isClosed = b === last.vertices[0];
    } else {
      chains.push({ vertices: [a, b], firstEdge: e, isClosed: false });
    }
  }
  return chains;
}

// The vertices of all rods one after the other, each rod with a neighbour before its first and after its last vertex;
// and for each place the edge that begins there, -1 if none does, -2 for those neighbours. Rods come in a scattered
// order, so that the first of them are a fair sample of all.
export function arrange(chains: Chain[]): [Int32Array, Int32Array] {
  const order: number[] = [];
  const edgeOf: number[] = [];
  for (const at of scattered(chains.length)) {
    const { vertices, firstEdge, isClosed } = chains[at]!;
    order.push(isClosed ? vertices.at(-2)! : vertices[0]!);
    edgeOf.push(-2);
    vertices.forEach((vertex, i) => {
      order.push(vertex);
      edgeOf.push(i + 1 < vertices.length ? firstEdge + i : -1);
    });
    order.push(isClosed ? vertices[1]! : vertices.at(-1)!);
    edgeOf.push(-2);
  }
  return [Int32Array.from(order), Int32Array.from(edgeOf)];
}

// 0..count in an order that is scattered, and the same every time.
function scattered(count: number): Int32Array {
  const order = Int32Array.from({ length: count }, (_, i) => i);
  let random = 12345;
  for (let i = count - 1; i > 0; i--) {
    random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((random / 2 ** 32) * (i + 1));
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}

// A mesh of `count` copies of a shape, each with its number.
function blocks([corners, index, places]: Shape, count: number): InstancedBufferGeometry {
  const each = corners.length / 3;
  const geometry = new InstancedBufferGeometry();
  const positions = new Float32Array(corners.length * count);
  const rodPlaces = new Float32Array(each * count);
  const indices = new Uint32Array(index.length * count);
  for (let copy = 0; copy < count; copy++) {
    positions.set(corners, corners.length * copy);
    for (let i = 0; i < each; i++) rodPlaces[each * copy + i] = places[i]! + copy;
    for (let i = 0; i < index.length; i++) indices[index.length * copy + i] = index[i]! + each * copy;
  }
  geometry.setAttribute("position", new BufferAttribute(positions, 3));
  // Without normals three.js would shade flat; the shader makes its own.
  geometry.setAttribute("normal", new BufferAttribute(new Int8Array(3 * each * count), 3, true));
  geometry.setAttribute("rodPlace", new BufferAttribute(rodPlaces, 1));
  geometry.setIndex(new BufferAttribute(indices, 1));
  return geometry;
}

// Corners, triangles, and the place of each corner.
type Shape = [number[], number[], number[]];

// Corners have their place across, and along: 0 and 1 for the side of the tube, -1 and beyond for the round end at its
// begin, 2 and beyond for that at its end.
function tubeShape(): Shape {
  const [corners, index]: [number[], number[]] = [[], []];
  const ring = (radius: number, along: number, count: number) => {
    for (let side = 0; side < count; side++) {
      const angle = (2 * Math.PI * side) / SIDES;
      corners.push(radius * Math.cos(angle), radius * Math.sin(angle), along);
    }
    return corners.length / 3 - count;
  };
  // Triangles between two rings, outwards if the second lies further along.
  const join = (a: number, b: number, isTurned: boolean) => {
    for (let side = 0; side < SIDES; side++) {
      const next = (side + 1) % SIDES;
      const quad = [a + side, a + next, b + side, b + side, a + next, b + next];
      index.push(...(isTurned ? quad.reverse() : quad));
    }
  };
  join(ring(1, 0, SIDES), ring(1, 1, SIDES), false);
  for (const isEnd of [false, true]) {
    const along = (rise: number) => (isEnd ? 2 + rise : -1 - rise);
    const rings = [0, Math.PI / 4, Math.PI / 2].map((angle) => ring(Math.cos(angle), along(Math.sin(angle)), SIDES));
    join(rings[0]!, rings[1]!, !isEnd);
    join(rings[1]!, rings[2]!, !isEnd);
  }
  return [corners, index, corners.filter((_, i) => i % 3 === 0).map(() => 0)];
}

// Two corners at each place, and one place more than there are segments, so that instances join.
function stripShape(): Shape {
  const [corners, index, places]: [number[], number[], number[]] = [[], [], []];
  for (let place = 0; place <= STRIP_BLOCK; place++) {
    corners.push(-1, 0, 0, 1, 0, 0);
    places.push(place, place);
    const a = 2 * place;
    if (place < STRIP_BLOCK) index.push(a, a + 1, a + 2, a + 2, a + 1, a + 3);
  }
  return [corners, index, places];
}
