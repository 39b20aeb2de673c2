// Fixtures: runs that are made once, servers that end with a test, and errors in the console.

import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test as base, expect } from "@playwright/test";
import { Process, expectSuccess } from "./program";
import { Viewer } from "./viewer";

export { expect };

export interface Runs {
  // Folder for files of tests.
  folder: string;
  // A cloth falls on a ball: a shell, contacts, exact colliders.
  drape: string;
  // A flag: pins, and a probe of the pin force.
  flag: string;
  // Two ropes and a bunny: rods and a solid.
  knot: string;
  // Hair on a ball.
  hair: string;
  // A copy, for a test to damage.
  copy: (run: string) => string;
}

interface ConsoleErrors {
  // Errors in the console so far.
  readonly found: string[];
  // Allows errors that a test causes deliberately.
  allow: (expected: RegExp) => void;
}

interface ForTest {
  consoleErrors: ConsoleErrors;
  viewer: Viewer;
  // Starts the program, and ends it with the test.
  start: (...words: string[]) => Process;
  // Serves runs; returns the address of the page.
  serve: (...runs: string[]) => Promise<string>;
}

export const test = base.extend<ForTest, { runs: Runs }>({
  runs: [
    async ({}, use) => {
      const folder = mkdtempSync(join(tmpdir(), "reefknot-viewer-"));
      const make = async (name: string, ...words: string[]) => {
        const out = join(folder, name);
        await expectSuccess("run", ...words, "--quick", "--quiet", "--out", out);
        return out;
      };
      let copies = 0;
      try {
        await use({
          folder,
          drape: await make("drape", "drape", "--set", "parameters.n=14"),
          flag: await make("flag", "flag", "--set", "parameters.n=10"),
          knot: await make("knot", "reefknot", "--frames", "8"),
          hair: await make("hair", "hairy-ball", "--set", "parameters.rods=30", "--frames", "10"),
          copy: (run) => {
            const out = join(folder, `copy-${++copies}`);
            cpSync(run, out, { recursive: true });
            return out;
          },
        });
      } finally {
        rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
      }
    },
    { scope: "worker" },
  ],

  consoleErrors: [
    async ({ context }, use) => {
      const found: string[] = [];
      const allowed: RegExp[] = [];
      context.on("console", (message) => {
        if (message.type() === "error") found.push(`${message.text()} (${message.location().url})`);
      });
      context.on("weberror", (error) => found.push(`exception: ${error.error().message}`));
      await use({ found, allow: (expected) => allowed.push(expected) });
      expect(
        found.filter((text) => !allowed.some((expected) => expected.test(text))),
        "errors in the console",
      ).toEqual([]);
    },
    { auto: true },
  ],

  viewer: async ({ page }, use) => {
    await use(new Viewer(page));
  },

  start: async ({}, use) => {
    const started: Process[] = [];
    await use((...words) => {
      const process = new Process(...words);
      started.push(process);
      return process;
    });
    for (const process of started) await process.end();
  },

  serve: async ({ start }, use) => {
    await use((...runs) => start("view", ...runs, "--no-open").address());
  },
});
