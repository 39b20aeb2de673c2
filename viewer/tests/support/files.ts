// An independent reader of the files of a run, so that the page is not tested against its own
// reader.

import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface Manifest {
  title: string;
  scene: string;
  frame_rate: number;
  steps_per_frame: number;
  frames: number;
  objects: string[];
  kinds: string[];
}

// A line of run.jsonl: numbers, null, and tables of numbers.
export type Line = Record<string, number | null> & {
  energy_j: Record<string, number>;
  phases_s: Record<string, number>;
};

export type Arrays = Map<string, { shape: number[]; values: number[] }>;

export function manifestOf(run: string): Manifest {
  return JSON.parse(readFileSync(join(run, "manifest.json"), "utf8")) as Manifest;
}

export function logOf(run: string): Line[] {
  return readFileSync(join(run, "run.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}

// Columns of probes.csv by name with unit.
export function probesOf(run: string): Map<string, number[]> {
  const [head, ...rows] = readFileSync(join(run, "probes.csv"), "utf8")
    .trim()
    .split("\n")
    .map((line) => line.split(","));
  return new Map(head!.map((name, i) => [name, rows.map((row) => Number(row[i]))]));
}

export function framePath(run: string, frame: number): string {
  return join(run, "frames", `${String(frame).padStart(5, "0")}.safetensors`);
}

// All arrays of a file in double precision.
export function arraysOf(path: string): Arrays {
  const bytes = readFileSync(path);
  const start = 8 + Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.toString("utf8", 8, start)) as Record<
    string,
    { dtype: string; shape: number[]; data_offsets: [number, number] }
  >;
  const readers: Record<string, [number, (at: number) => number]> = {
    F64: [8, (at) => bytes.readDoubleLE(at)],
    F32: [4, (at) => bytes.readFloatLE(at)],
    I32: [4, (at) => bytes.readInt32LE(at)],
    U8: [1, (at) => bytes.readUInt8(at)],
  };
  const arrays: Arrays = new Map();
  for (const [name, { dtype, shape, data_offsets }] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    const [size, read] = readers[dtype]!;
    const [begin, end] = data_offsets;
    arrays.set(name, {
      shape,
      values: Array.from({ length: (end - begin) / size }, (_, i) =>
        read(start + begin + size * i),
      ),
    });
  }
  return arrays;
}

// The vector in a row of an array.
export function row(arrays: Arrays, name: string, index: number): number[] {
  return arrays.get(name)!.values.slice(3 * index, 3 * index + 3);
}
