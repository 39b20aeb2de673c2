// Draws rods as tubes, or as strips that face the camera if tubes would be about a pixel thick. The
// points of all rods are in one texture, from which the vertex shader of an instanced mesh reads
// them. So a frame uploads each point once, and neighbouring segments of a strip share their
// corners.

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
import type { SceneObject } from "./run";
import { tinted } from "./surface";

const TUBE_SIDES = 12;
// Texels per row of the textures, and points per instance of a strip and of a tube.
const TEXTURE_WIDTH = 2048;
const STRIP_BLOCK = 2048;
const TUBE_BLOCK = 128;
// Rods are drawn as tubes above this radius at the closest point (pixels).
const MIN_TUBE_PIXELS = 1.6;

const VERTEX = /* glsl */ `
attribute float rodPlace;
uniform highp sampler2D rodPoints;
uniform highp sampler2D rodTints;
uniform highp sampler2D rodDirectors;
uniform vec2 rodRadius;
uniform vec3 rodEye;
uniform vec3 rodLight;
// Width of a pixel at distance 1, and factor of the radius.
uniform float rodPixel;
uniform float rodWiden;
vec3 rodNormal;
vec3 rodTint;
vec3 unit(vec3 v, vec3 otherwise) {
  float l = length(v);
  return l > 1e-12 ? v / l : otherwise;
}
ivec2 texel(int place) { return ivec2(place % ${TEXTURE_WIDTH}, place / ${TEXTURE_WIDTH}); }
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
  // Neighbouring edges meet in their bisecting plane.
  vec3 next = rodAt(place + 2).xyz - end;
  vec3 previous = begin.xyz - rodAt(place - 1).xyz;
  vec3 other = unit(isEnd ? next : previous, t);
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
    // The ends of a rod are round, as in contact. Within a rod, a flat cap closes gaps at corners.
    vec3 beyond = isEnd ? rodAt(place + 2).xyz : rodAt(place - 1).xyz;
    vec3 away = isEnd ? t : -t;
    float radius = 0.5 * (rodRadius.x + rodRadius.y);
    float rise = isEnd ? position.z - 2.0 : -1.0 - position.z;
    rodNormal = unit(outwards + away * rise / radius, away);
    return beyond != here ? meeting : here + across + away * rise * radius * rodWiden;
  }
  // Smooth across the corner between two edges.
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
  // Brightness of a thin fibre by the light perpendicular to it (Kajiya and Kay 1989).
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
  // Strips face the camera, not the light, so both sides cast shadows.
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
  private current: {
    points?: Float32Array;
    directors?: Float32Array | undefined;
    colours?: Uint8Array;
  } = {};

  // `light` is the direction to the light.
  constructor(
    readonly object: SceneObject,
    light: Vector3,
  ) {
    [this.order, this.edgeOf] = arrange(chainsOf(object.edges!));
    // One more row: an instance may read beyond the last point, and must find no rod there.
    const rows = Math.ceil(this.order.length / TEXTURE_WIDTH) + 1;
    const floats = () =>
      new DataTexture(
        new Float32Array(4 * TEXTURE_WIDTH * rows).fill(-1),
        TEXTURE_WIDTH,
        rows,
        undefined,
        FloatType,
      );
    this.points = floats();
    this.tints = new DataTexture(new Uint8Array(4 * TEXTURE_WIDTH * rows), TEXTURE_WIDTH, rows);
    const [first, second] = object.radius;
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
      if (isShadow)
        shader.vertexShader = shader.vertexShader.replace(
          "#include <common>",
          `#include <common>\n${VERTEX}`,
        );
      shader.vertexShader = shader.vertexShader
        .replace(
          "void main() {",
          `void main() {\n\tvec3 rodHere = rodPoint();${isShadow ? "" : "\n\tvTint = rodTint;"}`,
        )
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

  // Chooses tubes or strips by the distance of the camera, and uploads the current points and
  // colours.
  // `share` is the fraction of rods drawn; they are widened to keep the density of hair.
  prepareToDraw(eye: Vector3, pixel: number, nearest: number, share: number): void {
    const { rodEye, rodPixel, rodWiden } = this.uniforms;
    rodEye.value.copy(eye);
    rodPixel.value = pixel;
    rodWiden.value = Math.min(4, 1 / share);
    this.setTube(
      this.directors !== undefined ||
        Math.max(...this.object.radius) > MIN_TUBE_PIXELS * pixel * nearest,
    );
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
    for (const part of [
      this.tube,
      this.strip,
      this.material,
      this.shadow,
      this.points,
      this.tints,
      this.directors,
    ])
      part?.dispose();
  }
}

// Uploads the rows of a range of points. three.js uploads ranges row by row, so many rows are
// uploaded as a whole.
function upload(texture: DataTexture | undefined, begin: number, end: number): void {
  if (!texture) return;
  const [first, last] = [Math.floor(begin / TEXTURE_WIDTH), Math.ceil(end / TEXTURE_WIDTH)];
  texture.clearUpdateRanges();
  if (last - first <= 0.5 * texture.height)
    for (let row = first; row < last; row++)
      texture.addUpdateRange(4 * TEXTURE_WIDTH * row, 4 * TEXTURE_WIDTH);
  texture.needsUpdate = true;
}

interface Chain {
  vertices: number[];
  firstEdge: number;
  isClosed: boolean;
}

// Chains of edges. Edges are in order along each rod, so a rod ends where the next edge does not
// continue the last.
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

// Vertices of all rods in sequence, each rod with a neighbour before its first and after its last
// vertex; and for each entry the edge that begins there, -1 if none does, -2 for the neighbours.
// The order of rods is random, so that the first ones are a fair sample.
export function arrange(chains: Chain[]): [Int32Array, Int32Array] {
  const order: number[] = [];
  const edgeOf: number[] = [];
  for (const at of shuffled(chains.length)) {
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

// 0..count in a random but reproducible order.
function shuffled(count: number): Int32Array {
  const order = Int32Array.from({ length: count }, (_, i) => i);
  let random = 12345;
  for (let i = count - 1; i > 0; i--) {
    random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((random / 2 ** 32) * (i + 1));
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}

// A mesh of `count` copies of a shape, with the index of each copy.
function blocks([corners, index, places]: Shape, count: number): InstancedBufferGeometry {
  const each = corners.length / 3;
  const geometry = new InstancedBufferGeometry();
  const positions = new Float32Array(corners.length * count);
  const rodPlaces = new Float32Array(each * count);
  const indices = new Uint32Array(index.length * count);
  for (let copy = 0; copy < count; copy++) {
    positions.set(corners, corners.length * copy);
    for (let i = 0; i < each; i++) rodPlaces[each * copy + i] = places[i]! + copy;
    for (let i = 0; i < index.length; i++)
      indices[index.length * copy + i] = index[i]! + each * copy;
  }
  geometry.setAttribute("position", new BufferAttribute(positions, 3));
  // Without normals three.js would shade flat; the shader computes its own.
  geometry.setAttribute("normal", new BufferAttribute(new Int8Array(3 * each * count), 3, true));
  geometry.setAttribute("rodPlace", new BufferAttribute(rodPlaces, 1));
  geometry.setIndex(new BufferAttribute(indices, 1));
  return geometry;
}

// Corners, triangles, and the index along the rod of each corner.
type Shape = [number[], number[], number[]];

// Corners have coordinates across and along the tube: 0 and 1 along for its side, -1 and below for
// the round cap at its start, 2 and above for the cap at its end.
function tubeShape(): Shape {
  const [corners, index]: [number[], number[]] = [[], []];
  const ring = (radius: number, along: number, count: number) => {
    for (let side = 0; side < count; side++) {
      const angle = (2 * Math.PI * side) / TUBE_SIDES;
      corners.push(radius * Math.cos(angle), radius * Math.sin(angle), along);
    }
    return corners.length / 3 - count;
  };
  // Triangles between two rings, facing outwards if the second ring lies further along.
  const join = (a: number, b: number, isTurned: boolean) => {
    for (let side = 0; side < TUBE_SIDES; side++) {
      const next = (side + 1) % TUBE_SIDES;
      const quad = [a + side, a + next, b + side, b + side, a + next, b + next];
      index.push(...(isTurned ? quad.reverse() : quad));
    }
  };
  join(ring(1, 0, TUBE_SIDES), ring(1, 1, TUBE_SIDES), false);
  for (const isEnd of [false, true]) {
    const along = (rise: number) => (isEnd ? 2 + rise : -1 - rise);
    const rings = [0, Math.PI / 4, Math.PI / 2].map((angle) =>
      ring(Math.cos(angle), along(Math.sin(angle)), TUBE_SIDES),
    );
    join(rings[0]!, rings[1]!, !isEnd);
    join(rings[1]!, rings[2]!, !isEnd);
  }
  return [corners, index, corners.filter((_, i) => i % 3 === 0).map(() => 0)];
}

// Two corners per point, and one point more than segments, so that instances join.
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
