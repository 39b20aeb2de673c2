// One run in the image: its objects, contacts and ground, at one frame.

import {
  AmbientLight,
  Box3,
  DirectionalLight,
  GridHelper,
  HemisphereLight,
  Mesh,
  MeshBasicMaterial,
  Scene,
  ShadowMaterial,
  PlaneGeometry,
  SphereGeometry,
  Vector3,
  type PerspectiveCamera,
} from "three";
import { colourOfObject, largest, measure, paint, type Colouring } from "./colour";
import { Contacts, typicalForce } from "./contacts";
import type { Look } from "./look";
import type { Picked } from "./pick";
import { Rods } from "./rods";
import type { Run, SceneObject } from "./run";
import type { TensorFile } from "./safetensors";
import { Surface } from "./surface";

const LIGHT_DIRECTION = new Vector3(-0.45, -0.6, 1).normalize();
// Colliders larger than the simulated objects by this factor, such as planes, do not count for the
// size of a scene.
const HUGE_SIZE_RATIO = 3;
// The view fits the parts of colliders within this distance of the simulated objects, relative to
// their size.
const NEAR_DISTANCE = 0.2;
// Number of sample points per object for fitting the view.
const MAX_SAMPLES = 3000;
// Length of an arrow of typical force, relative to half the size of the scene.
const ARROW_LENGTH = 0.08;

// Scales of all panes: the value at the end of the colour map, and the length of arrows per force
// (m/N).
export interface Scales {
  range: number;
  arrows: number;
}

interface Drawn {
  object: SceneObject;
  surface: Surface | undefined;
  rods: Rods | undefined;
  colours: Uint8Array;
}

export class Pane {
  readonly scene = new Scene();
  readonly contacts = new Contacts();
  readonly box = new Box3();
  outline: Vector3[] = [];
  frame = -1;
  file: TensorFile | undefined;
  private readonly drawn: Drawn[];
  private readonly sun = new DirectionalLight(0xfff4e6, 2.5);
  private readonly marker = new Mesh(
    new SphereGeometry(1, 16, 12),
    new MeshBasicMaterial({ color: 0xff2d78, depthTest: false, transparent: true }),
  );
  private readonly ground = new Mesh(
    new PlaneGeometry(1, 1),
    new ShadowMaterial({ opacity: 0.22 }),
  );
  private grid: GridHelper | undefined;
  private hasFloor = false;
  // Typical contact force (N).
  private force = 0;
  // Whether an object has its own colour at present.
  private readonly isPlain: boolean[] = [];
  // Largest value so far of each colouring, so that ranges do not flicker.
  private readonly seen = { speed: 0, strain: 0 };
  // Cached values of a colouring, with their frame.
  private measured: {
    file?: TensorFile;
    colour?: Colouring;
    values: (Float32Array | undefined)[];
  } = { values: [] };

  constructor(readonly run: Run) {
    this.drawn = run.objects.map((object) => {
      const surface = object.triangles && object.kind !== "rods" ? new Surface(object) : undefined;
      const rods = object.edges ? new Rods(object, LIGHT_DIRECTION) : undefined;
      for (const part of [surface?.mesh, rods?.mesh]) if (part) this.scene.add(part);
      return { object, surface, rods, colours: new Uint8Array((4 * object.rest.length) / 3) };
    });
    this.scene.add(
      new HemisphereLight(0xf4f7ff, 0x9a9388, 1.7),
      new AmbientLight(0xffffff, 0.35),
      this.sun,
      this.sun.target,
    );
    this.scene.add(this.contacts.group, this.marker, this.ground);
    this.marker.visible = false;
    this.marker.renderOrder = 10;
    this.ground.receiveShadow = true;
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
  }

  // Computes the bounds of the scene over some frames: its box without huge colliders, and the
  // points to fit.
  measureBounds(files: TensorFile[]): void {
    const places = this.drawn.map(({ object }) => {
      const points = files.flatMap((file) => sample(file.floats(`${object.name}/points`)));
      return { object, points, box: new Box3().setFromPoints(points) };
    });
    const size = (box: Box3) => box.getSize(new Vector3()).length();
    const simulated = places.filter(({ object }) => object.kind !== "collider");
    const main = simulated.length > 0 ? simulated : places;
    const core = main.reduce((all, { box }) => all.union(box), new Box3());
    const near = core.clone().expandByScalar(NEAR_DISTANCE * size(core));
    this.box.copy(core);
    this.outline = main.flatMap(({ points }) => points);
    for (const { box, object, points } of places) {
      if (object.kind !== "collider") continue;
      const isHuge = size(box) > HUGE_SIZE_RATIO * size(core);
      if (!isHuge) this.box.union(box);
      if (isHuge || isFloor(box, core)) this.hasFloor = true;
      this.outline.push(...points.filter((point) => near.containsPoint(point)));
    }
    this.placeLights();
  }

  private placeLights(): void {
    const [centre, radius] = [
      this.box.getCenter(new Vector3()),
      Math.max(1e-4, this.box.getSize(new Vector3()).length() / 2),
    ];
    const { shadow } = this.sun;
    this.sun.position.copy(centre).addScaledVector(LIGHT_DIRECTION, 4 * radius);
    this.sun.target.position.copy(centre);
    const camera = shadow.camera;
    camera.left = camera.bottom = -1.5 * radius;
    camera.right = camera.top = 1.5 * radius;
    camera.near = 0.5 * radius;
    camera.far = 9 * radius;
    camera.updateProjectionMatrix();
    // A depth bias, not a normal bias: the normals of a sheet may point away from the light.
    shadow.bias = -0.0012;
    const floor = this.box.min.z - 0.002 * radius;
    this.ground.scale.setScalar(30 * radius);
    this.ground.position.set(centre.x, centre.y, floor);
    this.grid?.removeFromParent();
    const cell = 10 ** Math.round(Math.log10(radius / 3));
    const cells = 2 * Math.ceil((4 * radius) / cell);
    this.grid = new GridHelper(cells * cell, cells, 0x9aa2ab, 0xb9c0c8);
    this.grid.material.transparent = true;
    this.grid.material.opacity = 0.55;
    this.grid.rotation.x = Math.PI / 2;
    this.grid.position.set(
      Math.round(centre.x / cell) * cell,
      Math.round(centre.y / cell) * cell,
      floor,
    );
    this.scene.add(this.grid);
  }

  get radius(): number {
    return this.box.getSize(new Vector3()).length() / 2;
  }

  // Moves all objects to a frame; `applyLook` updates colours and contacts.
  show(frame: number, file: TensorFile): void {
    this.frame = frame;
    this.file = file;
    for (const { object, surface, rods } of this.drawn) {
      const points = file.floats(`${object.name}/points`);
      if (!points || points.length !== object.rest.length) continue;
      surface?.move(points);
      rods?.move(points, file.floats(`${object.name}/directors`));
    }
  }

  // Values of a colouring in a frame, for ranges and colours.
  private values(
    object: SceneObject,
    file: TensorFile,
    colour: Colouring,
  ): Float32Array | undefined {
    if (this.measured.file !== file || this.measured.colour !== colour)
      this.measured = { file, colour, values: [] };
    return (this.measured.values[object.index] ??= measure(object, file, colour));
  }

  // Extends the ranges of colours and arrows by a frame, without showing it.
  extendRanges(file: TensorFile, look: Look): void {
    if (look.forces) this.force = Math.max(this.force, typicalForce(file));
    if (look.colour !== "speed" && look.colour !== "strain") return;
    for (const { object } of this.drawn) {
      const values = this.values(object, file, look.colour);
      if (values) this.seen[look.colour] = Math.max(this.seen[look.colour], largest(values));
    }
  }

  range(look: Look): number {
    if (look.range > 0) return look.range;
    return look.colour === "speed" || look.colour === "strain" ? this.seen[look.colour] : 0;
  }

  // Length of arrows per force (m/N).
  arrowScale(look: Look): number {
    return this.force > 0 ? (ARROW_LENGTH * this.radius * look.arrows) / this.force : 0;
  }

  // Updates colours, visibility and contacts of the displayed frame.
  applyLook(look: Look, { range, arrows }: Scales): void {
    const file = this.file;
    if (!file) return;
    for (const { object, surface, rods, colours } of this.drawn) {
      const isVisible = !look.hidden.has(object.name);
      for (const part of [surface?.mesh, rods?.mesh]) if (part) part.visible = isVisible;
      if (!isVisible) continue;
      if (surface) surface.material.wireframe = look.wireframe;
      // Object colours do not change from frame to frame.
      if (look.colour === "object" && this.isPlain[object.index]) continue;
      this.isPlain[object.index] = look.colour === "object";
      const values = this.values(object, file, look.colour);
      paint(colours, object, colourOfObject(object, this.run.objects), file, {
        colouring: look.colour,
        values,
        range,
      });
      surface?.tint(colours);
      rods?.tint(colours);
    }
    if (this.grid) this.grid.visible = look.grid && !this.hasFloor;
    this.ground.visible = look.grid && !this.hasFloor;
    const visible = (object: number) => !look.hidden.has(this.run.objects[object]?.name ?? "");
    const contacts = {
      points: look.contacts || look.colour === "stick",
      normals: look.normals,
      forces: look.forces,
    };
    this.contacts.show(file, visible, contacts, 0.03 * this.radius, arrows);
  }

  prepareToDraw(camera: PerspectiveCamera, pixel: number, share: number): void {
    const nearest = Math.max(camera.near, this.box.distanceToPoint(camera.position));
    for (const { rods } of this.drawn) rods?.prepareToDraw(camera.position, pixel, nearest, share);
    this.marker.scale.setScalar(4 * pixel * camera.position.distanceTo(this.marker.position));
  }

  get edges(): number {
    return this.drawn.reduce((sum, { object }) => sum + (object.edges?.length ?? 0) / 2, 0);
  }

  // Marks the selected vertex, if any.
  mark(picked: Picked | undefined): void {
    const points = picked && this.file?.floats(`${this.run.objects[picked.object]?.name}/points`);
    this.marker.visible = points !== undefined;
    if (picked && points) this.marker.position.fromArray(points, 3 * picked.vertex);
  }

  dispose(): void {
    for (const { surface, rods } of this.drawn) {
      surface?.dispose();
      rods?.dispose();
    }
    this.contacts.dispose();
  }
}

// Sample points of an object: vertices at a constant stride, and the extreme points in 26
// directions.
export function sample(points: Float32Array | undefined): Vector3[] {
  if (!points || points.length === 0) return [];
  const count = points.length / 3;
  // A prime stride samples different positions along the rods.
  let stride = Math.max(1, Math.ceil(count / MAX_SAMPLES));
  while (stride > 1 && !isPrime(stride)) stride++;
  const chosen: number[] = [];
  for (let i = 0; i < count; i += stride) chosen.push(i);
  for (let code = 14; code < 27; code++) {
    const [x, y, z] = [(code % 3) - 1, (Math.floor(code / 3) % 3) - 1, Math.floor(code / 9) - 1];
    let [most, least, first, last] = [-Infinity, Infinity, 0, 0];
    for (let i = 0, j = 0; i < count; i++, j += 3) {
      const along = x * points[j]! + y * points[j + 1]! + z * points[j + 2]!;
      if (along > most) [most, last] = [along, i];
      if (along < least) [least, first] = [along, i];
    }
    chosen.push(first, last);
  }
  return chosen.map((i) => new Vector3().fromArray(points, 3 * i));
}

function isPrime(number: number): boolean {
  for (let divisor = 2; divisor * divisor <= number; divisor++)
    if (number % divisor === 0) return false;
  return true;
}

// Whether a collider is flat, below the top of the simulated objects, and at least as wide as they
// are.
function isFloor(box: Box3, core: Box3): boolean {
  const [size, all] = [box.getSize(new Vector3()), core.getSize(new Vector3())];
  return (
    size.z < 0.02 * Math.max(size.x, size.y) &&
    size.x >= all.x &&
    size.y >= all.y &&
    box.max.z < core.max.z
  );
}
