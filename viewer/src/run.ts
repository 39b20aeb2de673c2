// A run as the page knows it: what does not change, the log so far, and the frames that were loaded.

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

// A line of run.jsonl; null is what was not computed.
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

// An object or a collider: its elements, by vertices of its own.
export interface Thing {
  index: number;
  name: string;
  kind: string;
  rest: Float32Array;
  triangles: Int32Array | undefined;
  edges: Int32Array | undefined;
  // Half axes of the section of rods (m).
  radius: [number, number];
}

// Frames that stay in memory, in bytes: above it those go that were not looked at for longest.
const MEMORY = 1.2e9;
// Steps over which the speed of a running simulation is taken.
const RECENT = 40;

export class Run {
  manifest!: Manifest;
  things: Thing[] = [];
  status: Status = { state: "empty", message: null, frames: [], identity: "" };
  steps: Step[] = [];
  // Names of the probes' columns, with units, and their values by step.
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

  // Asks what there is now; opens the run once there is one. True if anything is new.
  async look(): Promise<boolean> {
    const status = await this.source.status(this.number);
    const isNew = JSON.stringify(status) !== JSON.stringify(this.status);
    const isOther = this.isOpen && status.identity !== this.status.identity && status.identity !== "";
    if (this.isOpen && !["running", "finished", "stopped"].includes(status.state)) {
      // What was loaded can still be looked at.
      this.status = { ...status, frames: this.status.frames, identity: this.status.identity };
      return isNew;
    }
    if (isOther) this.forget();
    this.status = status;
    if (!this.isOpen && status.frames.length > 0) await this.open();
    const isLogged = this.isOpen && (await this.readLog());
    return isNew || isLogged;
  }

  private async open(): Promise<void> {
    // The frames that are needed first come along; who needs them hears what is wrong with them.
    for (const frame of [this.nearestFrame(0), this.lastFrame]) this.load(frame).catch(() => {});
    const files = [this.source.text(this.number, "manifest.json", 0), this.source.bytes(this.number, "topology.safetensors")] as const;
    const [manifest, topology] = await Promise.all(files);
    this.manifest = JSON.parse(manifest) as Manifest;
    const file = TensorFile.read(topology);
    this.things = this.manifest.objects.map((name, index) => {
      const radius = file.floats(`${name}/radius`);
      return {
        index,
        name,
        kind: this.manifest.kinds[index] ?? "collider",
        rest: file.floats(`${name}/rest_points`) ?? file.floats(`${name}/start_points`) ?? new Float32Array(),
        triangles: file.integers(`${name}/triangles`),
        edges: file.integers(`${name}/edges`),
        radius: radius ? [radius[0]!, radius[1]!] : [0, 0],
      };
    });
    this.isOpen = true;
  }

  private forget(): void {
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
        // A line that was cut off by a crash: `--resume` writes it anew.
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

  // The stored frame that comes nearest to a number.
  nearestFrame(frame: number): number {
    let best = 0;
    let distance = Infinity;
    for (const [first, last] of this.status.frames) {
      const clamped = Math.min(Math.max(frame, first), last);
      if (Math.abs(clamped - frame) < distance) [best, distance] = [clamped, Math.abs(clamped - frame)];
    }
    return best;
  }

  frameOfStep(step: number): number {
    return Math.ceil(step / this.manifest.steps_per_frame);
  }

  // Seconds until a running simulation ends, from its latest steps.
  get secondsLeft(): number | undefined {
    const recent = this.steps.slice(-RECENT);
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

  get loadsUnderWay(): number {
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
      if (this.memory <= MEMORY || this.frames.size <= 2) break;
      this.frames.delete(oldest);
      this.memory -= old.bytes;
    }
  }
}
