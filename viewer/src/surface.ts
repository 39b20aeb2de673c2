// Draws triangles: cloth, and the surfaces of solids, props and colliders.

import {
  BufferAttribute,
  BufferGeometry,
  DoubleSide,
  Mesh,
  MeshStandardMaterial,
  type Material,
} from "three";
import type { SceneObject } from "./run";

// Cosine of the crease angle: sharper edges of the rest shape are drawn sharp.
const CREASE_COSINE = Math.cos((35 * Math.PI) / 180);

// Brightness of the back of a sheet, relative to its front.
const BACK_BRIGHTNESS = 0.82;

// Adds vertex colours in sRGB to a material; `back` is the brightness of back faces.
export function tinted(material: Material, vertex = "", back = 1): void {
  const attribute = vertex === "" ? "attribute vec4 tint;" : "";
  material.onBeforeCompile = (shader) => {
    shader.vertexShader = shader.vertexShader
      .replace(
        "#include <common>",
        `#include <common>\n${attribute}\nvarying vec3 vTint;\n${vertex}`,
      )
      .replace("#include <color_vertex>", vertex === "" ? "vTint = tint.rgb;" : "");
    shader.fragmentShader = shader.fragmentShader
      .replace("#include <common>", "#include <common>\nvarying vec3 vTint;")
      .replace(
        "#include <color_fragment>",
        "diffuseColor.rgb *= pow(vTint, vec3(2.2));\n" +
          `if (!gl_FrontFacing) diffuseColor.rgb *= ${back.toFixed(2)};`,
      );
  };
}

export class Surface {
  readonly mesh: Mesh;
  readonly material = new MeshStandardMaterial({ side: DoubleSide, roughness: 0.75, metalness: 0 });
  private readonly index: Uint32Array;
  // Vertex of the object for each drawn vertex: a vertex on a sharp edge is drawn once per side.
  private readonly from: Int32Array;
  private readonly positions: BufferAttribute;
  private readonly normals: BufferAttribute;
  private readonly tints: BufferAttribute;

  constructor(readonly object: SceneObject) {
    [this.index, this.from] = split(object.triangles!, object.rest);
    const count = this.from.length;
    this.positions = new BufferAttribute(new Float32Array(3 * count), 3);
    this.normals = new BufferAttribute(new Float32Array(3 * count), 3);
    this.tints = new BufferAttribute(new Uint8Array(4 * count), 4, true);
    const geometry = new BufferGeometry();
    geometry.setIndex(new BufferAttribute(this.index, 1));
    geometry.setAttribute("position", this.positions);
    geometry.setAttribute("normal", this.normals);
    geometry.setAttribute("tint", this.tints);
    tinted(this.material, "", object.kind === "shell" ? BACK_BRIGHTNESS : 1);
    this.material.customProgramCacheKey = () => `surface ${object.kind === "shell"}`;
    this.mesh = new Mesh(geometry, this.material);
    this.mesh.frustumCulled = false;
    this.mesh.castShadow = this.mesh.receiveShadow = true;
  }

  move(points: Float32Array): void {
    const [positions, normals] = [
      this.positions.array as Float32Array,
      this.normals.array as Float32Array,
    ];
    for (let i = 0; i < this.from.length; i++) {
      const vertex = 3 * this.from[i]!;
      positions[3 * i] = points[vertex]!;
      positions[3 * i + 1] = points[vertex + 1]!;
      positions[3 * i + 2] = points[vertex + 2]!;
    }
    // The shader normalises normals.
    normals.fill(0);
    const normal = new Float32Array(3);
    for (let t = 0; t < this.index.length; t += 3) {
      normalOf(
        positions,
        3 * this.index[t]!,
        3 * this.index[t + 1]!,
        3 * this.index[t + 2]!,
        normal,
      );
      for (let corner = t; corner < t + 3; corner++) {
        const at = 3 * this.index[corner]!;
        normals[at]! += normal[0]!;
        normals[at + 1]! += normal[1]!;
        normals[at + 2]! += normal[2]!;
      }
    }
    this.positions.needsUpdate = this.normals.needsUpdate = true;
  }

  tint(colours: Uint8Array): void {
    const target = new Uint32Array(this.tints.array.buffer);
    const source = new Uint32Array(colours.buffer, colours.byteOffset, colours.length / 4);
    for (let i = 0; i < this.from.length; i++) target[i] = source[this.from[i]!]!;
    this.tints.needsUpdate = true;
  }

  dispose(): void {
    this.mesh.geometry.dispose();
    this.material.dispose();
  }
}

// Writes the normal of a triangle; its length is twice the area.
function normalOf(
  points: Float32Array,
  a: number,
  b: number,
  c: number,
  normal: Float32Array,
): void {
  const ux = points[b]! - points[a]!;
  const uy = points[b + 1]! - points[a + 1]!;
  const uz = points[b + 2]! - points[a + 2]!;
  const vx = points[c]! - points[a]!;
  const vy = points[c + 1]! - points[a + 1]!;
  const vz = points[c + 2]! - points[a + 2]!;
  normal[0] = uy * vz - uz * vy;
  normal[1] = uz * vx - ux * vz;
  normal[2] = ux * vy - uy * vx;
}

// Assigns a drawn vertex to every corner; corners of one vertex share it unless an edge between
// them is sharp.
export function split(triangles: Int32Array, points: Float32Array): [Uint32Array, Int32Array] {
  const index = new Uint32Array(triangles);
  const from: number[] = [];
  const direction: number[] = [];
  const drawn = new Map<number, number[]>();
  const normal = new Float32Array(3);
  for (let corner = 0; corner < triangles.length; corner++) {
    const vertex = triangles[corner]!;
    const t = corner - (corner % 3);
    normalOf(points, 3 * triangles[t]!, 3 * triangles[t + 1]!, 3 * triangles[t + 2]!, normal);
    const length = Math.hypot(...normal) || 1;
    const [x, y, z] = [normal[0]! / length, normal[1]! / length, normal[2]! / length];
    const known = drawn.get(vertex) ?? [];
    drawn.set(vertex, known);
    const isAlike = (d: number) =>
      x * direction[3 * d]! + y * direction[3 * d + 1]! + z * direction[3 * d + 2]! >=
      CREASE_COSINE;
    let shared = known.find(isAlike);
    if (shared === undefined) {
      shared = from.length;
      from.push(vertex);
      direction.push(x, y, z);
      known.push(shared);
    }
    index[corner] = shared;
  }
  return [index, Int32Array.from(from)];
}
