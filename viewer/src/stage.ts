// The image: one canvas, one camera, and a pane for each run.

import {
  Color,
  NeutralToneMapping,
  PCFShadowMap,
  PerspectiveCamera,
  Vector3,
  WebGLRenderer,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import type { Look } from "./look";
import type { Pane, Scales } from "./pane";

const BACKGROUND = new Color(0xe9ecef);
const DEFAULT_DIRECTION = new Vector3(0.75, -1.6, 0.7).normalize();
const FIELD_OF_VIEW = 32;
// Fraction of the image that a fitted scene fills.
const FILLED_FRACTION = 0.88;
// Costs of an image (ms): above the first, fewer rods and pixels are drawn during motion; below the
// second, more. At rest all are drawn.
const SLOW_IMAGE = 28;
const FAST_IMAGE = 18;
const MIN_ROD_FRACTION = 0.01;
const INITIAL_ROD_FRACTION = 0.05;
const MIN_RESOLUTION = 0.3;
// Time without motion after which all rods and pixels are drawn (ms).
const REST_DELAY = 250;
// Minimum interval between updates of shadows with reduced detail (ms).
const SHADOW_INTERVAL = 400;
// Scenes with at most this many edges are always drawn with all rods.
const ADAPTIVE_EDGE_COUNT = 30_000;

interface Drawing {
  isSmooth: boolean;
  // Device pixels per CSS pixel, along a side.
  ratio: number;
  // Whether changes are drawn automatically, or on request only.
  drawsItself: boolean;
}

export class Stage {
  readonly camera = new PerspectiveCamera(FIELD_OF_VIEW, 1, 0.01, 100);
  readonly controls: OrbitControls;
  readonly renderer: WebGLRenderer;
  panes: Pane[] = [];
  onDrawn: () => void = () => {};
  scales: Scales = { range: 0, arrows: 0 };
  // Fraction of rods drawn now.
  share = 1;
  private movingRodFraction = 1;
  // Factor of the pixel ratio, now and during motion.
  private resolution = 1;
  private movingResolution = 1;
  private readonly ratio: number;
  private isDirty = true;
  private isShadowDirty = true;
  private lastShadow = -Infinity;
  private hasShadows = true;
  private isFitted = false;
  private lastMove = -Infinity;
  private lastPicture = -Infinity;
  // The image being drawn: its start time, and the fence that signals its end.
  private pendingFence: { began: number; fence: WebGLSync | null } | undefined;
  // Cost of an image with all rods and pixels (ms); it delays the switch to full detail.
  private fullCost = 0;
  private costs: number[] = [];
  private intervals: number[] = [];

  constructor(
    readonly canvas: HTMLCanvasElement,
    { isSmooth, ratio, drawsItself }: Drawing,
  ) {
    this.ratio = ratio;
    // Without a GPU there is no antialiasing, and the first image has few rods, so that it appears
    // soon.
    if (!isSmooth) this.movingRodFraction = INITIAL_ROD_FRACTION;
    this.renderer = new WebGLRenderer({
      canvas,
      antialias: isSmooth,
      powerPreference: "high-performance",
    });
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
    this.controls.addEventListener("start", () => (this.isFitted = false));
    canvas.addEventListener("wheel", () => (this.isFitted = false), { passive: true });
    this.controls.addEventListener("change", () => {
      this.markMotion();
      this.redraw();
    });
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement!);
    canvas.addEventListener("webglcontextrestored", () => this.redraw(true));
    this.resize();
    if (drawsItself) requestAnimationFrame((now) => this.tick(now));
  }

  // Requests a new image after a change; `shadows` if objects moved.
  redraw(shadows = false): void {
    this.isDirty = true;
    this.isShadowDirty ||= shadows;
  }

  // Records motion; during motion, speed has priority over detail.
  markMotion(): void {
    this.lastMove = performance.now();
  }

  resize(): void {
    const { clientWidth, clientHeight } = this.canvas.parentElement!;
    this.renderer.setSize(Math.max(1, clientWidth), Math.max(1, clientHeight));
    // If the user has not moved the camera, fit the whole scene again.
    if (this.isFitted) this.fitView(undefined, true);
    this.redraw();
  }

  // Aspect ratio of a pane, from CSS sizes: device pixels are rounded.
  private get aspect(): number {
    const { clientWidth, clientHeight } = this.canvas.parentElement!;
    return Math.max(1, clientWidth) / Math.max(1, this.panes.length) / Math.max(1, clientHeight);
  }

  // Fits the whole scene, from the current or the default direction; or sets a camera.
  fitView(camera: number[] | undefined, keepDirection = false): void {
    if (camera) {
      this.camera.position.fromArray(camera);
      this.controls.target.fromArray(camera, 3);
    } else {
      const points = this.panes.flatMap((pane) => pane.outline);
      if (points.length === 0) return;
      const direction = keepDirection
        ? this.camera.position.clone().sub(this.controls.target).normalize()
        : DEFAULT_DIRECTION;
      this.fit(points, direction);
      this.isFitted = true;
    }
    this.controls.update();
    this.redraw();
  }

  // Sets the closest camera position in a direction that shows all points, with equal margins.
  private fit(points: Vector3[], direction: Vector3): void {
    const right = new Vector3().crossVectors(this.camera.up, direction).normalize();
    const up = new Vector3().crossVectors(direction, right);
    const { aspect } = this;
    const tangent = Math.tan((FIELD_OF_VIEW * Math.PI) / 360) * FILLED_FRACTION;
    // A point is within the image if |x − X| ≤ tangent · (Z − z). The maxima of ±x + tangent · z
    // yield the centre X and the distance Z.
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
    const at = (away: number) =>
      new Vector3()
        .addScaledVector(right, x)
        .addScaledVector(up, y)
        .addScaledVector(direction, away);
    this.camera.position.copy(at(eye));
    this.controls.target.copy(at(middle));
  }

  get cameraNumbers(): number[] {
    return [...this.camera.position.toArray(), ...this.controls.target.toArray()];
  }

  private tick(now: number): void {
    requestAnimationFrame((next) => this.tick(next));
    if (!this.isFinished()) return;
    const isMoving = now - this.lastMove < REST_DELAY + Math.min(1500, this.fullCost / 2);
    this.setDetail(
      isMoving && this.edges > ADAPTIVE_EDGE_COUNT ? this.movingRodFraction : 1,
      isMoving ? this.movingResolution : 1,
    );
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
    this.pendingFence = { began, fence: gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0) };
    gl.flush();
    this.pollFence();
    this.onDrawn();
  }

  // Whether the last image is complete; then records its cost. Drawing earlier would only queue
  // commands.
  private isFinished(): boolean {
    if (!this.pendingFence) return true;
    const { began, fence } = this.pendingFence;
    const gl = this.renderer.getContext() as WebGL2RenderingContext;
    const isDone =
      !fence || gl.isContextLost() || gl.getSyncParameter(fence, gl.SYNC_STATUS) === gl.SIGNALED;
    if (!isDone) return false;
    gl.deleteSync(fence);
    this.pendingFence = undefined;
    this.adaptDetail(performance.now() - began);
    return true;
  }

  private pollFence(): void {
    setTimeout(() => {
      if (!this.isFinished()) this.pollFence();
    }, 3);
  }

  private setDetail(share: number, resolution: number): void {
    if (share !== this.share) this.redraw(true);
    this.share = share;
    // Resizing has a cost, so small changes are ignored.
    const isNew =
      Math.abs(resolution - this.resolution) > 0.1 ||
      (resolution === 1) !== (this.resolution === 1);
    if (!isNew) return;
    this.resolution = resolution;
    this.renderer.setPixelRatio(this.ratio * resolution);
    this.redraw();
  }

  // Records the cost of an image, and adapts the number of rods and pixels during motion.
  private adaptDetail(cost: number): void {
    keepRecent(this.costs, cost);
    if (this.share === 1 && this.resolution === 1) this.fullCost = cost;
    const isAdaptive = this.edges > ADAPTIVE_EDGE_COUNT;
    if (cost > SLOW_IMAGE) {
      const part = Math.max(0.1, (0.8 * SLOW_IMAGE) / cost);
      if (isAdaptive)
        this.movingRodFraction = Math.min(
          this.movingRodFraction,
          Math.max(MIN_ROD_FRACTION, part * this.share),
        );
      if (!isAdaptive || this.share < 0.1)
        this.movingResolution = Math.max(
          MIN_RESOLUTION,
          this.movingResolution * Math.sqrt(Math.max(0.5, part)),
        );
    } else if (cost < FAST_IMAGE && (this.share < 1 || this.resolution < 1)) {
      if (this.movingResolution < 1)
        this.movingResolution = Math.min(1, 1.03 * this.movingResolution);
      else this.movingRodFraction = Math.min(1, 1.08 * this.movingRodFraction);
    }
  }

  private get edges(): number {
    return this.panes.reduce((sum, pane) => sum + pane.edges, 0);
  }

  // Costs of images and times between them (ms), newest last.
  get pictures(): { costs: readonly number[]; intervals: readonly number[] } {
    return { costs: this.costs, intervals: this.intervals };
  }

  resetTimes(): void {
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
    const isReduced = this.share < 1 || this.resolution < 1;
    const isShadowDue =
      this.hasShadows &&
      this.isShadowDirty &&
      (!isReduced || performance.now() - this.lastShadow > SHADOW_INTERVAL);
    renderer.setScissorTest(true);
    renderer.setClearColor(BACKGROUND, 1);
    this.panes.forEach((pane, i) => {
      const [left, right] = [
        Math.round((i * width) / count),
        Math.round(((i + 1) * width) / count),
      ];
      renderer.setViewport(left / ratio, 0, (right - left) / ratio, height / ratio);
      renderer.setScissor(
        left / ratio,
        0,
        (right - left - (i + 1 < count ? 2 : 0)) / ratio,
        height / ratio,
      );
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
    this.camera.near = Math.max(
      Math.min(near, far),
      0.002 * this.camera.position.distanceTo(this.controls.target),
      far * 1e-5,
    );
  }

  // The pane at a position of the pointer, and the position from -1 to 1 in it.
  paneAt(x: number, y: number): { pane: Pane; place: [number, number] } | undefined {
    const { width, height, left, top } = this.canvas.getBoundingClientRect();
    const count = Math.max(1, this.panes.length);
    const across = ((x - left) / width) * count;
    const pane = this.panes[Math.min(count - 1, Math.floor(across))];
    return (
      pane && { pane, place: [2 * (across - Math.floor(across)) - 1, 1 - (2 * (y - top)) / height] }
    );
  }

  // Applies the view settings to all panes.
  applyLook(look: Look): void {
    for (const pane of this.panes) if (pane.file) pane.extendRanges(pane.file, look);
    const arrows = this.panes.map((pane) => pane.arrowScale(look)).filter((scale) => scale > 0);
    this.scales = {
      range: Math.max(0, ...this.panes.map((pane) => pane.range(look))),
      arrows: arrows.length > 0 ? Math.min(...arrows) : 0,
    };
    for (const pane of this.panes) pane.applyLook(look, this.scales);
    this.hasShadows = look.shadows;
    this.redraw(true);
  }

  // The current image as PNG, with all rods and pixels.
  async png(): Promise<Blob> {
    this.setDetail(1, 1);
    this.redraw(true);
    this.draw();
    return new Promise((resolve, reject) => {
      this.canvas.toBlob(
        (blob) => (blob ? resolve(blob) : reject(new Error("the browser returned no image"))),
        "image/png",
      );
    });
  }
}

function keepRecent(times: number[], time: number): void {
  times.push(time);
  if (times.length > 600) times.splice(0, 300);
}

// WebGL 2 support of the browser: none, by software, or by a GPU.
export function renderingSupport(): "none" | "software" | "hardware" {
  try {
    const gl = document.createElement("canvas").getContext("webgl2");
    if (!gl) return "none";
    const names = gl.getExtension("WEBGL_debug_renderer_info");
    const name = String(gl.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
    return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name)
      ? "software"
      : "hardware";
  } catch {
    return "none";
  }
}
