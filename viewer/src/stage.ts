// The picture: one canvas, one camera, and a pane for each run.

import { Color, NeutralToneMapping, PCFShadowMap, PerspectiveCamera, Vector3, WebGLRenderer } from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import type { Look } from "./look";
import type { Pane, Scales } from "./pane";

const BACKGROUND = new Color(0xe9ecef);
const DIRECTION = new Vector3(0.75, -1.6, 0.7).normalize();
const FIELD_OF_VIEW = 32;
// The part of a picture that a scene fills.
const MARGIN = 0.88;
// While things move, fewer rods and pixels are drawn if a picture takes longer than this (ms); all once nothing moves.
const SLOW = 28;
const FAST = 18;
const LEAST_SHARE = 0.01;
const FIRST_SHARE = 0.05;
const LEAST_FINENESS = 0.3;
const STILL_AFTER = 250;
// Where drawing is slow, shadows follow what moves only so often (ms).
const SHADOWS_EVERY = 400;
// Below this many edges all rods are drawn always.
const MANY_EDGES = 30_000;

interface Drawing {
  isSmooth: boolean;
  // Pixels of the picture for one of the page, along a side.
  ratio: number;
  // Whether it draws whenever something has changed, or only when told to.
  drawsItself: boolean;
}

export class Stage {
  readonly camera = new PerspectiveCamera(FIELD_OF_VIEW, 1, 0.01, 100);
  readonly controls: OrbitControls;
  readonly renderer: WebGLRenderer;
  panes: Pane[] = [];
  onDrawn: () => void = () => {};
  scales: Scales = { range: 0, arrows: 0 };
  // The part of all rods that is drawn now.
  share = 1;
  private movingShare = 1;
  // Pixels of the picture for one of the screen, along a side, now and while things move.
  private fineness = 1;
  private movingFineness = 1;
  private readonly ratio: number;
  private isDirty = true;
  private isShadowDirty = true;
  private lastShadow = -Infinity;
  private hasShadows = true;
  private isFramed = false;
  private lastMove = -Infinity;
  private lastPicture = -Infinity;
  // The picture that is being drawn: when it began, and what tells its end.
  private underWay: { began: number; fence: WebGLSync | null } | undefined;
  // What a picture with everything took (ms): whoever pauses between two moves should not have to wait for one.
  private costOfAll = 0;
  private costs: number[] = [];
  private intervals: number[] = [];

  constructor(
    readonly canvas: HTMLCanvasElement,
    { isSmooth, ratio, drawsItself }: Drawing,
  ) {
    this.ratio = ratio;
    // Edges are smooth where there is a graphics processor; where there is none, the first picture should be soon there.
    if (!isSmooth) this.movingShare = FIRST_SHARE;
    this.renderer = new WebGLRenderer({ canvas, antialias: isSmooth, powerPreference: "high-performance" });
    this.renderer.toneMapping = NeutralToneMapping;
    this.renderer.toneMappingExposure = 1.1;
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.renderer.shadowMap.autoUpdate = false;
    this.renderer.setPixelRatio(ratio);
    this.renderer.autoClear = false;
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = false;
    this.controls.zoomToCursor = true;
    this.controls.addEventListener("start", () => (this.isFramed = false));
    canvas.addEventListener("wheel", () => (this.isFramed = false), { passive: true });
    this.controls.addEventListener("change", () => {
      this.keepMoving();
      this.redraw();
    });
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement!);
    canvas.addEventListener("webglcontextrestored", () => this.redraw(true));
    this.resize();
    if (drawsItself) requestAnimationFrame((now) => this.tick(now));
  }

  // Something changed: draw again; `shadows` if what casts them moved.
  redraw(shadows = false): void {
    this.isDirty = true;
    this.isShadowDirty ||= shadows;
  }

  // Something moves and goes on moving, so that speed counts for more than detail.
  keepMoving(): void {
    this.lastMove = performance.now();
  }

  resize(): void {
    const { clientWidth, clientHeight } = this.canvas.parentElement!;
    this.renderer.setSize(Math.max(1, clientWidth), Math.max(1, clientHeight));
    // Nobody has turned the camera yet: the whole scene stays in the picture.
    if (this.isFramed) this.frameScene(undefined, true);
    this.redraw();
  }

  // Width by height of a pane, by the page: pixels are rounded.
  private get aspect(): number {
    const { clientWidth, clientHeight } = this.canvas.parentElement!;
    return Math.max(1, clientWidth) / Math.max(1, this.panes.length) / Math.max(1, clientHeight);
  }

  // Turns the camera to the whole scene, from where it is or from the front.
  frameScene(camera: number[] | undefined, keepDirection = false): void {
    if (camera) {
      this.camera.position.fromArray(camera);
      this.controls.target.fromArray(camera, 3);
    } else {
      const points = this.panes.flatMap((pane) => pane.outline);
      if (points.length === 0) return;
      const direction = keepDirection ? this.camera.position.clone().sub(this.controls.target).normalize() : DIRECTION;
      this.fit(points, direction);
      this.isFramed = true;
    }
    this.controls.update();
    this.redraw();
  }

  // The nearest place in a direction from which all points are seen, with those at the edges equally far from them.
  private fit(points: Vector3[], direction: Vector3): void {
    const right = new Vector3().crossVectors(this.camera.up, direction).normalize();
    const up = new Vector3().crossVectors(direction, right);
    const { aspect } = this;
    const tangent = Math.tan((FIELD_OF_VIEW * Math.PI) / 360) * MARGIN;
    // A point is within the picture if |x − X| ≤ tangent · (Z − z): with the largest of x + tangent · z on each side
    // that gives the middle X, and the distance Z.
    const span = (axis: Vector3, slope: number): [number, number] => {
      let [most, least] = [-Infinity, -Infinity];
      for (const point of points) {
        const [x, z] = [point.dot(axis), point.dot(direction)];
        most = Math.max(most, x + slope * z);
        least = Math.max(least, -x + slope * z);
      }
      return [(most - least) / 2, (most + least) / (2 * slope)];
    };
    const [x, awayAcross] = span(right, tangent * aspect);
    const [y, awayUp] = span(up, tangent);
    const middle = points.reduce((sum, point) => sum + point.dot(direction), 0) / points.length;
    const eye = Math.max(awayAcross, awayUp, middle + 1e-3);
    const at = (away: number) => new Vector3().addScaledVector(right, x).addScaledVector(up, y).addScaledVector(direction, away);
    this.camera.position.copy(at(eye));
    this.controls.target.copy(at(middle));
  }

  get cameraNumbers(): number[] {
    return [...this.camera.position.toArray(), ...this.controls.target.toArray()];
  }

  private tick(now: number): void {
    requestAnimationFrame((next) => this.tick(next));
    if (!this.isFinished()) return;
    const isMoving = now - this.lastMove < STILL_AFTER + Math.min(1500, this.costOfAll / 2);
    this.setDetail(isMoving && this.edges > MANY_EDGES ? this.movingShare : 1, isMoving ? this.movingFineness : 1);
    if (!this.isDirty) return;
    if (this.panes.length === 0) {
      this.draw();
      return;
    }
    const began = performance.now();
    if (began - this.lastPicture < 1000) keepRecent(this.intervals, began - this.lastPicture);
    this.lastPicture = began;
    this.draw();
    const gl = this.renderer.getContext() as WebGL2RenderingContext;
    this.underWay = { began, fence: gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0) };
    gl.flush();
    this.watch();
    this.onDrawn();
  }

  // Whether the last picture is done; if it has just become so, takes its cost. Drawing on before would only queue.
  private isFinished(): boolean {
    if (!this.underWay) return true;
    const { began, fence } = this.underWay;
    const gl = this.renderer.getContext() as WebGL2RenderingContext;
    const isDone = !fence || gl.isContextLost() || gl.getSyncParameter(fence, gl.SYNC_STATUS) === gl.SIGNALED;
    if (!isDone) return false;
    gl.deleteSync(fence);
    this.underWay = undefined;
    this.note(performance.now() - began);
    return true;
  }

  private watch(): void {
    setTimeout(() => {
      if (!this.isFinished()) this.watch();
    }, 3);
  }

  private setDetail(share: number, fineness: number): void {
    if (share !== this.share) this.redraw(true);
    this.share = share;
    // A new size costs something, so small changes are not made.
    const isNew = Math.abs(fineness - this.fineness) > 0.1 || (fineness === 1) !== (this.fineness === 1);
    if (!isNew) return;
    this.fineness = fineness;
    this.renderer.setPixelRatio(this.ratio * fineness);
    this.redraw();
  }

  // Takes the cost of a picture, and draws fewer or more rods and pixels for it when things move.
  private note(cost: number): void {
    keepRecent(this.costs, cost);
    if (this.share === 1 && this.fineness === 1) this.costOfAll = cost;
    const hasMany = this.edges > MANY_EDGES;
    if (cost > SLOW) {
      const part = Math.max(0.1, (0.8 * SLOW) / cost);
      if (hasMany) this.movingShare = Math.min(this.movingShare, Math.max(LEAST_SHARE, part * this.share));
      if (!hasMany || this.share < 0.1) this.movingFineness = Math.max(LEAST_FINENESS, this.movingFineness * Math.sqrt(Math.max(0.5, part)));
    } else if (cost < FAST && (this.share < 1 || this.fineness < 1)) {
      if (this.movingFineness < 1) this.movingFineness = Math.min(1, 1.03 * this.movingFineness);
      else this.movingShare = Math.min(1, 1.08 * this.movingShare);
    }
  }

  private get edges(): number {
    return this.panes.reduce((sum, pane) => sum + pane.edges, 0);
  }

  // What pictures cost and the times from one to the next (ms), newest last.
  get pictures(): { costs: readonly number[]; intervals: readonly number[] } {
    return { costs: this.costs, intervals: this.intervals };
  }

  forgetTimes(): void {
    this.costs = [];
    this.intervals = [];
  }

  draw(): void {
    this.isDirty = false;
    const { width, height } = this.renderer.domElement;
    const count = Math.max(1, this.panes.length);
    const ratio = this.renderer.getPixelRatio();
    this.camera.aspect = this.aspect;
    this.setDepth();
    this.camera.updateProjectionMatrix();
    this.camera.updateMatrixWorld();
    const pixel = (2 * Math.tan((FIELD_OF_VIEW * Math.PI) / 360)) / height;
    const { renderer } = this;
    const isEased = this.share < 1 || this.fineness < 1;
    const isShadowDue = this.hasShadows && this.isShadowDirty && (!isEased || performance.now() - this.lastShadow > SHADOWS_EVERY);
    renderer.setScissorTest(true);
    renderer.setClearColor(BACKGROUND, 1);
    this.panes.forEach((pane, i) => {
      const [left, right] = [Math.round((i * width) / count), Math.round(((i + 1) * width) / count)];
      renderer.setViewport(left / ratio, 0, (right - left) / ratio, height / ratio);
      renderer.setScissor(left / ratio, 0, (right - left - (i + 1 < count ? 2 : 0)) / ratio, height / ratio);
      renderer.clear();
      pane.prepareToDraw(this.camera, pixel, this.share);
      renderer.shadowMap.enabled = this.hasShadows;
      renderer.shadowMap.needsUpdate = isShadowDue;
      renderer.render(pane.scene, this.camera);
    });
    if (this.panes.length === 0) {
      renderer.setScissorTest(false);
      renderer.clear();
    }
    if (!isShadowDue) return;
    this.isShadowDirty = false;
    this.lastShadow = performance.now();
  }

  private setDepth(): void {
    let [near, far] = [Infinity, 0];
    for (const pane of this.panes) {
      const radius = pane.radius;
      const away = pane.box.getCenter(new Vector3()).distanceTo(this.camera.position);
      near = Math.min(near, away - 1.5 * radius);
      far = Math.max(far, away + 40 * radius);
    }
    this.camera.far = far || 100;
    this.camera.near = Math.max(Math.min(near, far), 0.002 * this.camera.position.distanceTo(this.controls.target), far * 1e-5);
  }

  // The pane under a place on the screen, and that place from -1 to 1 in it.
  paneAt(x: number, y: number): { pane: Pane; place: [number, number] } | undefined {
    const { width, height, left, top } = this.canvas.getBoundingClientRect();
    const count = Math.max(1, this.panes.length);
    const across = ((x - left) / width) * count;
    const pane = this.panes[Math.min(count - 1, Math.floor(across))];
    return pane && { pane, place: [2 * (across - Math.floor(across)) - 1, 1 - (2 * (y - top)) / height] };
  }

  // Shows what the panes hold in the way that is asked for.
  dress(look: Look): void {
    for (const pane of this.panes) if (pane.file) pane.survey(pane.file, look);
    const arrows = this.panes.map((pane) => pane.arrowScale(look)).filter((scale) => scale > 0);
    this.scales = {
      range: Math.max(0, ...this.panes.map((pane) => pane.range(look))),
      arrows: arrows.length > 0 ? Math.min(...arrows) : 0,
    };
    for (const pane of this.panes) pane.dress(look, this.scales);
    this.hasShadows = look.shadows;
    this.redraw(true);
  }

  // A picture of what is drawn, with all rods.
  async png(): Promise<Blob> {
    this.setDetail(1, 1);
    this.redraw(true);
    this.draw();
    return new Promise((resolve, reject) => {
      this.canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the browser made no picture"))), "image/png");
    });
  }
}

function keepRecent(times: number[], time: number): void {
  times.push(time);
  if (times.length > 600) times.splice(0, 300);
}

// How the browser draws: not at all, without a graphics processor, or with one.
export function abilityToDraw(): "none" | "software" | "hardware" {
  try {
    const gl = document.createElement("canvas").getContext("webgl2");
    if (!gl) return "none";
    const names = gl.getExtension("WEBGL_debug_renderer_info");
    const name = String(gl.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
    return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name) ? "software" : "hardware";
  } catch {
    return "none";
  }
}
