// Draws contacts: points coloured by state, normals, and forces as arrows. They are drawn over
// surfaces, since contacts lie between them.

import {
  BufferAttribute,
  BufferGeometry,
  ConeGeometry,
  CylinderGeometry,
  Group,
  InstancedMesh,
  LineBasicMaterial,
  LineSegments,
  Matrix4,
  MeshBasicMaterial,
  Points,
  PointsMaterial,
  Quaternion,
  Vector3,
  Color,
  SRGBColorSpace,
} from "three";
import { mergeGeometries } from "three/addons/utils/BufferGeometryUtils.js";
import { STATES } from "./colour";
import type { TensorFile } from "./safetensors";

// Maximum number of arrows; of more, the largest forces are drawn.
const MAX_ARROWS = 20_000;
const UP = new Vector3(0, 0, 1);

export interface ContactLook {
  points: boolean;
  normals: boolean;
  forces: boolean;
}

export class Contacts {
  readonly group = new Group();
  private readonly points = new Points(
    new BufferGeometry(),
    material(PointsMaterial, { size: 6, sizeAttenuation: false, vertexColors: true }),
  );
  private readonly normals = new LineSegments(
    new BufferGeometry(),
    material(LineBasicMaterial, { vertexColors: true }),
  );
  private arrows: InstancedMesh;
  private readonly arrow = arrowShape();

  constructor() {
    this.arrows = this.makeArrows(0);
    this.points.material.onBeforeCompile = (shader) => {
      const round =
        "if (distance(gl_PointCoord, vec2(0.5)) > 0.5) discard;\n" +
        "\t#include <clipping_planes_fragment>";
      shader.fragmentShader = shader.fragmentShader.replace(
        "#include <clipping_planes_fragment>",
        round,
      );
    };
    this.points.renderOrder = 3;
    this.normals.renderOrder = 2;
    for (const drawn of [this.points, this.normals]) drawn.frustumCulled = false;
    this.group.add(this.points, this.normals);
  }

  // `length` is the length of normals (m), `scale` that of arrows per force (m/N).
  show(
    frame: TensorFile,
    isVisible: (object: number) => boolean,
    look: ContactLook,
    length: number,
    scale: number,
  ): void {
    const isShown = look.points || look.normals || look.forces;
    const chosen = isShown ? choose(frame, isVisible) : [];
    this.points.visible = look.points;
    this.normals.visible = look.normals;
    if (look.points) this.showPoints(frame, chosen);
    if (look.normals) this.showNormals(frame, chosen, length);
    this.arrows.visible = look.forces;
    if (look.forces) this.showForces(frame, chosen, scale);
  }

  private showPoints(frame: TensorFile, chosen: number[]): void {
    const [places, states] = [frame.floats("contact/point")!, frame.get("contact/state")!.data];
    const positions = new Float32Array(3 * chosen.length);
    const colours = new Float32Array(3 * chosen.length);
    chosen.forEach((contact, i) => {
      positions.set(places.subarray(3 * contact, 3 * contact + 3), 3 * i);
      colours.set(linear(states[contact]!), 3 * i);
    });
    replace(this.points.geometry, positions, colours);
  }

  private showNormals(frame: TensorFile, chosen: number[], length: number): void {
    const [places, normals] = [frame.floats("contact/point")!, frame.floats("contact/normal")!];
    const positions = new Float32Array(6 * chosen.length);
    const colours = new Float32Array(6 * chosen.length);
    chosen.forEach((contact, i) => {
      for (let k = 0; k < 3; k++) {
        positions[6 * i + k] = places[3 * contact + k]!;
        positions[6 * i + 3 + k] = places[3 * contact + k]! + length * normals[3 * contact + k]!;
      }
      colours.set([0.1, 0.55, 0.25, 0.2, 0.9, 0.5], 6 * i);
    });
    replace(this.normals.geometry, positions, colours);
  }

  private showForces(frame: TensorFile, chosen: number[], scale: number): void {
    const [places, forces, states] = [
      frame.floats("contact/point")!,
      frame.floats("contact/force")!,
      frame.get("contact/state")!.data,
    ];
    const size = (contact: number) =>
      Math.hypot(forces[3 * contact]!, forces[3 * contact + 1]!, forces[3 * contact + 2]!);
    let strong = chosen.filter((contact) => size(contact) > 0);
    if (strong.length > MAX_ARROWS)
      strong = strong.sort((a, b) => size(b) - size(a)).slice(0, MAX_ARROWS);
    if (this.arrows.instanceMatrix.count < strong.length)
      this.arrows = this.makeArrows(Math.ceil(1.5 * strong.length));
    const [matrix, place, turn, stretch] = [
      new Matrix4(),
      new Vector3(),
      new Quaternion(),
      new Vector3(),
    ];
    const colour = new Color();
    strong.forEach((contact, i) => {
      const force = new Vector3().fromArray(forces, 3 * contact);
      const length = force.length() * scale;
      turn.setFromUnitVectors(UP, force.normalize());
      matrix.compose(
        place.fromArray(places, 3 * contact),
        turn,
        stretch.set(length, length, length),
      );
      this.arrows.setMatrixAt(i, matrix);
      this.arrows.setColorAt(i, colour.fromArray(linear(states[contact]!)));
    });
    this.arrows.count = strong.length;
    this.arrows.instanceMatrix.needsUpdate = true;
    if (this.arrows.instanceColor) this.arrows.instanceColor.needsUpdate = true;
  }

  private makeArrows(count: number): InstancedMesh {
    this.arrows?.removeFromParent();
    this.arrows?.dispose();
    const arrows = new InstancedMesh(this.arrow, material(MeshBasicMaterial, {}), count);
    arrows.frustumCulled = false;
    arrows.renderOrder = 4;
    this.group.add(arrows);
    return arrows;
  }

  dispose(): void {
    for (const drawn of [this.points, this.normals]) drawn.geometry.dispose();
    this.arrow.dispose();
    this.arrows.dispose();
  }
}

// Contacts with at least one visible object.
function choose(frame: TensorFile, isVisible: (object: number) => boolean): number[] {
  const objects = frame.integers("contact/objects");
  const chosen: number[] = [];
  for (let contact = 0; objects && 2 * contact < objects.length; contact++) {
    if (isVisible(objects[2 * contact]!) || isVisible(objects[2 * contact + 1]!))
      chosen.push(contact);
  }
  return chosen;
}

// 90th percentile of the contact forces of a frame (N), for the scale of arrows: a few forces are
// far larger.
export function typicalForce(frame: TensorFile): number {
  const forces = frame.floats("contact/force");
  if (!forces || forces.length === 0) return 0;
  const sizes = new Float32Array(forces.length / 3);
  for (let i = 0; i < sizes.length; i++)
    sizes[i] = Math.hypot(forces[3 * i]!, forces[3 * i + 1]!, forces[3 * i + 2]!);
  const strong = sizes.filter((size) => size > 0).sort();
  return strong[Math.floor(0.9 * strong.length)] ?? 0;
}

function linear(state: number): number[] {
  const [r, g, b] = STATES[state] ?? STATES[0]!;
  return new Color().setRGB(r / 255, g / 255, b / 255, SRGBColorSpace).toArray() as number[];
}

function material<M, P>(Kind: new (parameters: P) => M, parameters: object): M {
  return new Kind({
    ...parameters,
    depthTest: false,
    depthWrite: false,
    transparent: true,
    toneMapped: false,
  } as P);
}

function replace(geometry: BufferGeometry, positions: Float32Array, colours: Float32Array): void {
  geometry.dispose();
  geometry.setAttribute("position", new BufferAttribute(positions, 3));
  geometry.setAttribute("color", new BufferAttribute(colours, 3));
}

// An arrow of length 1 along z.
function arrowShape(): BufferGeometry {
  const shaft = new CylinderGeometry(0.012, 0.012, 0.78, 6)
    .rotateX(Math.PI / 2)
    .translate(0, 0, 0.39);
  const head = new ConeGeometry(0.042, 0.22, 8).rotateX(Math.PI / 2).translate(0, 0, 0.89);
  return mergeGeometries([shaft, head]);
}
