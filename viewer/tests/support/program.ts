// The program under test, as a user starts it.

import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const PROGRAM =
  process.env["REEFKNOT"] ??
  fileURLToPath(new URL("../../../target/release/reefknot", import.meta.url));

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export class Process {
  stdout = "";
  stderr = "";
  readonly ended: Promise<Ended>;
  private readonly child: ChildProcess;

  constructor(...words: string[]) {
    if (!existsSync(PROGRAM))
      throw new Error(
        `${PROGRAM} does not exist: run cargo build --release, or set REEFKNOT to its path`,
      );
    this.child = spawn(PROGRAM, words, { stdio: ["ignore", "pipe", "pipe"] });
    this.child.stdout!.on("data", (part: Buffer) => (this.stdout += part.toString()));
    this.child.stderr!.on("data", (part: Buffer) => (this.stderr += part.toString()));
    this.ended = new Promise((resolve, reject) => {
      this.child.on("error", reject);
      this.child.on("close", (code) => resolve({ code, stdout: this.stdout, stderr: this.stderr }));
    });
  }

  // Waits for the address of the page, and returns it.
  async address(): Promise<string> {
    for (;;) {
      const found = /viewer of .*: (http:\S+)/.exec(this.stdout + this.stderr);
      if (found) return found[1]!;
      if (this.hasEnded)
        throw new Error(`the program printed no address: ${this.stdout}${this.stderr}`);
      await pause(20);
    }
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  async end(): Promise<void> {
    if (this.hasEnded) return;
    this.signal("SIGCONT");
    this.signal("SIGKILL");
    await this.ended;
  }
}

export async function reefknot(...words: string[]): Promise<Ended> {
  return new Process(...words).ended;
}

// Runs the program, which must succeed: for the preparation of tests.
export async function expectSuccess(...words: string[]): Promise<Ended> {
  const ended = await reefknot(...words);
  if (ended.code !== 0)
    throw new Error(`reefknot ${words.join(" ")} ended with ${ended.code}: ${ended.stderr}`);
  return ended;
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
