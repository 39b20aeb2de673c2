// A run: its constant arrays, the log so far, and the loaded frames.

import { TensorFile } from "./safetensors";
import type { Source, Status } from "./source";

export interface Manifest {
  scene: string;
  title: string;
  frame_rate: number;
  steps_per_frame: number;
  frames: number;
  objects: string[];
  kinds: string[];
  tolerance_m?: number | null;
}

// A line of run.jsonl; values that were not computed are null.
export interface Step {
  step: number;
  time: number;
  contacts: number;
  iterations: number;
  halvings: number;
  failsafe: boolean;
  intersections: number | null;
  min_gap_m: number | null;
  contact_error_m: number | null;
  momentum_error_m: number | null;
  nonlinear_error_m: number | null;
  max_stretch: number | null;
  energy_j: Record<string, number>;
  wall_s: number;
  phases_s: Record<string, number>;
}

// An object or a collider. Elements refer to its own vertices.
export interface SceneObject {
  index: number;
  name: string;
  kind: string;
  rest: Float32Array;
  triangles: Int32Array | undefined;
  edges: Int32Array | undefined;
  // Half axes of the cross-section of rods (m).
  radius: [number, number];
}

// Memory for frames (bytes); beyond it the least recently used frames are dropped.
const FRAME_CACHE_SIZE = 1.2e9;
// Number of latest steps for the estimate of the remaining time.
const ESTIMATE_STEPS = 40;

export class Run {
  manifest!: Manifest;
  objects: SceneObject[] = [];
  status: Status = { state: "empty", message: null, frames: [], identity: "" };
  steps: Step[] = [];
  // Names of the probe columns with units, and their values by step.
  probeNames: string[] = [];
  probeTimes: number[] = [];
  probes: number[][] = [];
  isOpen = false;
  private frames = new Map<number, TensorFile>();
  private loading = new Map<number, Promise<TensorFile>>();
  private memory = 0;
  private logBytes = 0;
  private probeBytes = 0;

  constructor(
    readonly source: Source,
    readonly number: number,
    readonly path: string,
  ) {}

  // Polls the status, and opens the run once it exists. Returns whether anything changed.
  async poll(): Promise<boolean> {
    const status = await this.source.status(this.number);
    const isNew = JSON.stringify(status) !== JSON.stringify(this.status);
    const isOther =
      this.isOpen && status.identity !== this.status.identity && status.identity !== "";
    if (this.isOpen && !["running", "finished", "stopped"].includes(status.state)) {
      // Loaded frames remain available.
      this.status = { ...status, frames: this.status.frames, identity: this.status.identity };
      return isNew;
    }
    if (isOther) this.reset();
    this.status = status;
    if (!this.isOpen && status.frames.length > 0) await this.open();
    const isLogged = this.isOpen && (await this.readLog());
    return isNew || isLogged;
  }

  private async open(): Promise<void> {
    // Loads the first and the last frame concurrently; `load` reports errors again when they are
    // shown.
    for (const frame of [this.nearestFrame(0), this.lastFrame]) this.load(frame).catch(() => {});
    const files = [
      this.source.text(this.number, "manifest.json", 0),
      this.source.bytes(this.number, "topology.safetensors"),
    ] as const;
    const [manifest, topology] = await Promise.all(files);
    this.manifest = JSON.parse(manifest) as Manifest;
    const file = TensorFile.read(topology);
    this.objects = this.manifest.objects.map((name, index) => {
      const radius = file.floats(`${name}/radius`);
      return {
        index,
        name,
        kind: this.manifest.kinds[index] ?? "collider",
        rest:
          file.floats(`${name}/rest_points`) ??
          file.floats(`${name}/start_points`) ??
          new Float32Array(),
        triangles: file.integers(`${name}/triangles`),
        edges: file.integers(`${name}/edges`),
        radius: radius ? [radius[0]!, radius[1]!] : [0, 0],
      };
    });
    this.isOpen = true;
  }

  private reset(): void {
    this.isOpen = false;
    this.frames.clear();
    this.loading.clear();
    this.memory = this.logBytes = this.probeBytes = 0;
    this.steps = [];
    this.probes = [];
    this.probeTimes = [];
    this.probeNames = [];
  }

  private async readLog(): Promise<boolean> {
    const log = await this.source.text(this.number, "run.jsonl", this.logBytes);
    this.logBytes += new TextEncoder().encode(log).length;
    for (const line of log.split("\n")) {
      if (line.trim() === "") continue;
      try {
        this.steps.push(JSON.parse(line) as Step);
      } catch {
        // A line truncated by a crash: `--resume` writes it again.
      }
    }
    const table = await this.source.text(this.number, "probes.csv", this.probeBytes);
    this.probeBytes += new TextEncoder().encode(table).length;
    for (const line of table.split("\n")) {
      if (line.trim() === "") continue;
      const cells = line.split(",");
      if (this.probeNames.length === 0) {
        this.probeNames = cells.slice(2);
        this.probes = this.probeNames.map(() => []);
      } else {
        this.probeTimes.push(Number(cells[1]));
        this.probes.forEach((column, i) => column.push(Number(cells[i + 2])));
      }
    }
    return log !== "" || table !== "";
  }

  get lastFrame(): number {
    return this.status.frames.at(-1)?.[1] ?? 0;
  }

  // Stored frame closest to a number.
  nearestFrame(frame: number): number {
    let best = 0;
    let distance = Infinity;
    for (const [first, last] of this.status.frames) {
      const clamped = Math.min(Math.max(frame, first), last);
      if (Math.abs(clamped - frame) < distance)
        [best, distance] = [clamped, Math.abs(clamped - frame)];
    }
    return best;
  }

  frameOfStep(step: number): number {
    return Math.ceil(step / this.manifest.steps_per_frame);
  }

  // Estimated time until a running simulation ends (s).
  get secondsLeft(): number | undefined {
    const recent = this.steps.slice(-ESTIMATE_STEPS);
    if (this.status.state !== "running" || recent.length === 0) return undefined;
    const mean = recent.reduce((sum, step) => sum + step.wall_s, 0) / recent.length;
    const left = this.manifest.frames * this.manifest.steps_per_frame - recent.at(-1)!.step;
    return Math.max(0, left) * mean;
  }

  loaded(frame: number): TensorFile | undefined {
    const file = this.frames.get(frame);
    if (file) {
      this.frames.delete(frame);
      this.frames.set(frame, file);
    }
    return file;
  }

  get loadedFrames(): IterableIterator<number> {
    return this.frames.keys();
  }

  get pendingLoads(): number {
    return this.loading.size;
  }

  async load(frame: number): Promise<TensorFile> {
    const known = this.loaded(frame) ?? this.loading.get(frame);
    if (known) return known;
    const identity = this.status.identity;
    const load = this.source.bytes(this.number, `frames/${frame}.safetensors`).then((buffer) => {
      const file = TensorFile.read(buffer);
      if (identity === this.status.identity) this.keep(frame, file);
      return file;
    });
    this.loading.set(frame, load);
    try {
      return await load;
    } finally {
      this.loading.delete(frame);
    }
  }

  private keep(frame: number, file: TensorFile): void {
    this.frames.set(frame, file);
    this.memory += file.bytes;
    for (const [oldest, old] of this.frames) {
      if (this.memory <= FRAME_CACHE_SIZE || this.frames.size <= 2) break;
      this.frames.delete(oldest);
      this.memory -= old.bytes;
    }
  }
}
