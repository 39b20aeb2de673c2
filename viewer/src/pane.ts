// One run in the picture: its objects, contacts and ground, at one frame.

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
import { colourOfThing, largest, measure, paint, type Colouring } from "./colour";
import { Contacts, typicalForce } from "./contacts";
import type { Look } from "./look";
import type { Picked } from "./pick";
import { Rods } from "./rods";
import type { Run, Thing } from "./run";
import type { TensorFile } from "./safetensors";
import { Surface } from "./surface";

const LIGHT = new Vector3(-0.45, -0.6, 1).normalize();
// Colliders that are this much larger than everything else, such as a plane, do not count for the size of a scene.
const HUGE = 3;
// Colliders belong into the picture as far as they are this near to the rest, as a part of its size.
const NEAR = 0.2;
// Points of a thing that stand for all when a picture is framed.
const SAMPLE = 3000;
// Length of a usual arrow, as a part of half the size of the scene.
const ARROW = 0.08;

// What panes share, or they could not be compared: the value at the end of the colours, and the length of arrows (m/N).
export interface Scales {
  range: number;
  arrows: number;
}

interface Drawn {
  thing: Thing;
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
  private readonly marker = new Mesh(new SphereGeometry(1, 16, 12), new MeshBasicMaterial({ color: 0xff2d78, depthTest: false, transparent: true }));
  private readonly ground = new Mesh(new PlaneGeometry(1, 1), new ShadowMaterial({ opacity: 0.22 }));
  private grid: GridHelper | undefined;
  private hasFloor = false;
  // The force that is drawn as an arrow of usual length (N).
  private force = 0;
  // Things that have the colours of objects now.
  private readonly isPlain: boolean[] = [];
  // The largest values that were seen by colouring, for ranges that do not flicker.
  private readonly seen = { speed: 0, strain: 0 };
  // The frame that was measured last.
  private measured: { file?: TensorFile; colour?: Colouring; values: (Float32Array | undefined)[] } = { values: [] };

  constructor(readonly run: Run) {
    this.drawn = run.things.map((thing) => {
      const surface = thing.triangles && thing.kind !== "rods" ? new Surface(thing) : undefined;
      const rods = thing.edges ? new Rods(thing, LIGHT) : undefined;
      for (const part of [surface?.mesh, rods?.mesh]) if (part) this.scene.add(part);
      return { thing, surface, rods, colours: new Uint8Array((4 * thing.rest.length) / 3) };
    });
    this.scene.add(new HemisphereLight(0xf4f7ff, 0x9a9388, 1.7), new AmbientLight(0xffffff, 0.35), this.sun, this.sun.target);
    this.scene.add(this.contacts.group, this.marker, this.ground);
    this.marker.visible = false;
    this.marker.renderOrder = 10;
    this.ground.receiveShadow = true;
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
  }

  // Takes in where the scene is in some frames: its box, without what is huge, and points that a picture must hold.
  frameBox(files: TensorFile[]): void {
    const places = this.drawn.map(({ thing }) => {
      const points = files.flatMap((file) => sample(file.floats(`${thing.name}/points`)));
      return { thing, points, box: new Box3().setFromPoints(points) };
    });
    const size = (box: Box3) => box.getSize(new Vector3()).length();
    const simulated = places.filter(({ thing }) => thing.kind !== "collider");
    const main = simulated.length > 0 ? simulated : places;
    const core = main.reduce((all, { box }) => all.union(box), new Box3());
    const near = core.clone().expandByScalar(NEAR * size(core));
    this.box.copy(core);
    this.outline = main.flatMap(({ points }) => points);
    for (const { box, thing, points } of places) {
      if (thing.kind !== "collider") continue;
      const isHuge = size(box) > HUGE * size(core);
      if (!isHuge) this.box.union(box);
      if (isHuge || isFloor(box, core)) this.hasFloor = true;
      this.outline.push(...points.filter((point) => near.containsPoint(point)));
    }
    this.lightUp();
  }

  private lightUp(): void {
    const [centre, radius] = [this.box.getCenter(new Vector3()), Math.max(1e-4, this.box.getSize(new Vector3()).length() / 2)];
    const { shadow } = this.sun;
    this.sun.position.copy(centre).addScaledVector(LIGHT, 4 * radius);
    this.sun.target.position.copy(centre);
    const camera = shadow.camera;
    camera.left = camera.bottom = -1.5 * radius;
    camera.right = camera.top = 1.5 * radius;
    camera.near = 0.5 * radius;
    camera.far = 9 * radius;
    camera.updateProjectionMatrix();
    // Not along normals: those of a sheet may point either way.
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
    this.grid.position.set(Math.round(centre.x / cell) * cell, Math.round(centre.y / cell) * cell, floor);
    this.scene.add(this.grid);
  }

  get radius(): number {
    return this.box.getSize(new Vector3()).length() / 2;
  }

  // Moves everything to a frame; `dress` does the rest.
  show(frame: number, file: TensorFile): void {
    this.frame = frame;
    this.file = file;
    for (const { thing, surface, rods } of this.drawn) {
      const points = file.floats(`${thing.name}/points`);
      if (!points || points.length !== thing.rest.length) continue;
      surface?.move(points);
      rods?.move(points, file.floats(`${thing.name}/directors`));
    }
  }

  // What a colouring measures, which both ranges and colours need of a frame.
  private values(thing: Thing, file: TensorFile, colour: Colouring): Float32Array | undefined {
    if (this.measured.file !== file || this.measured.colour !== colour) this.measured = { file, colour, values: [] };
    return (this.measured.values[thing.index] ??= measure(thing, file, colour));
  }

  // Takes a frame into the ranges of colours and arrows without showing it.
  survey(file: TensorFile, look: Look): void {
    if (look.forces) this.force = Math.max(this.force, typicalForce(file));
    if (look.colour !== "speed" && look.colour !== "strain") return;
    for (const { thing } of this.drawn) {
      const values = this.values(thing, file, look.colour);
      if (values) this.seen[look.colour] = Math.max(this.seen[look.colour], largest(values));
    }
  }

  range(look: Look): number {
    if (look.range > 0) return look.range;
    return look.colour === "speed" || look.colour === "strain" ? this.seen[look.colour] : 0;
  }

  // Length of arrows by force (m/N).
  arrowScale(look: Look): number {
    return this.force > 0 ? (ARROW * this.radius * look.arrows) / this.force : 0;
  }

  // Colours, visibility and contacts of the frame that is shown.
  dress(look: Look, { range, arrows }: Scales): void {
    const file = this.file;
    if (!file) return;
    for (const { thing, surface, rods, colours } of this.drawn) {
      const isVisible = !look.hidden.has(thing.name);
      for (const part of [surface?.mesh, rods?.mesh]) if (part) part.visible = isVisible;
      if (!isVisible) continue;
      if (surface) surface.material.wireframe = look.wireframe;
      // Colours by object stay as they are from frame to frame.
      if (look.colour === "object" && this.isPlain[thing.index]) continue;
      this.isPlain[thing.index] = look.colour === "object";
      const values = this.values(thing, file, look.colour);
      paint(colours, thing, colourOfThing(thing, this.run.things), file, { colouring: look.colour, values, range });
      surface?.tint(colours);
      rods?.tint(colours);
    }
    if (this.grid) this.grid.visible = look.grid && !this.hasFloor;
    this.ground.visible = look.grid && !this.hasFloor;
    const visible = (object: number) => !look.hidden.has(this.run.things[object]?.name ?? "");
    const contacts = { points: look.contacts || look.colour === "stick", normals: look.normals, forces: look.forces };
    this.contacts.show(file, visible, contacts, 0.03 * this.radius, arrows);
  }

  prepareToDraw(camera: PerspectiveCamera, pixel: number, share: number): void {
    const nearest = Math.max(camera.near, this.box.distanceToPoint(camera.position));
    for (const { rods } of this.drawn) rods?.prepareToDraw(camera.position, pixel, nearest, share);
    this.marker.scale.setScalar(4 * pixel * camera.position.distanceTo(this.marker.position));
  }

  get edges(): number {
    return this.drawn.reduce((sum, { thing }) => sum + (thing.edges?.length ?? 0) / 2, 0);
  }

  // Marks a vertex, or none.
  mark(picked: Picked | undefined): void {
    const points = picked && this.file?.floats(`${this.run.things[picked.thing]?.name}/points`);
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

// Points that stand for all: some of them, and those that lie farthest out in 26 directions.
export function sample(points: Float32Array | undefined): Vector3[] {
  if (!points || points.length === 0) return [];
  const count = points.length / 3;
  // By a prime, so that not only the same places of all rods are taken.
  let stride = Math.max(1, Math.ceil(count / SAMPLE));
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
  for (let divisor = 2; divisor * divisor <= number; divisor++) if (number % divisor === 0) return false;
  return true;
}

// A flat collider beneath everything, as wide as the rest.
function isFloor(box: Box3, core: Box3): boolean {
  const [size, all] = [box.getSize(new Vector3()), core.getSize(new Vector3())];
  return size.z < 0.02 * Math.max(size.x, size.y) && size.x >= all.x && size.y >= all.y && box.max.z < core.max.z;
}
