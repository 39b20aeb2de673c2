// The page in a browser, with the actions of a user.

import { expect, type Locator, type Page } from "@playwright/test";
import type { App } from "../../src/app";
import { Picture } from "./png";

declare global {
  interface Window {
    // Set by the page, for benchmarks and tests.
    reefknot: App;
  }
}

export class Viewer {
  constructor(readonly page: Page) {}

  // Opens an address, and waits until the runs are shown.
  async open(address: string, runs = 1): Promise<void> {
    await this.page.goto(address);
    await this.page.waitForFunction(
      (count) => window.reefknot?.stage?.panes.length === count,
      runs,
    );
    await this.page.waitForFunction(() => document.body.dataset["ready"] !== undefined);
    await expect(this.page.locator(".plot").first()).toBeVisible();
    // The plots changed the size of the image; wait for the resize.
    await this.page.evaluate(
      () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
    );
  }

  // Drags the time line to a frame, and waits until it is shown.
  async scrub(frame: number, shown: number[] = [frame]): Promise<void> {
    await this.drag(frame);
    await this.isShown(...shown);
  }

  // Drags the time line to a frame.
  async drag(frame: number): Promise<void> {
    await this.id("scrub").evaluate((slider: HTMLInputElement, value) => {
      slider.value = String(value);
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    }, frame);
  }

  async isShown(...frames: number[]): Promise<void> {
    await expect.poll(() => this.frames(), { message: "displayed frames" }).toEqual(frames);
  }

  // Frames of the panes.
  frames(): Promise<number[]> {
    return this.page.evaluate(() => window.reefknot.stage!.panes.map((pane) => pane.frame));
  }

  position(): Promise<number> {
    return this.page.evaluate(() => window.reefknot.position);
  }

  isPlaying(): Promise<boolean> {
    return this.page.evaluate(() => window.reefknot.isPlaying);
  }

  camera(): Promise<number[]> {
    return this.page.evaluate(() => window.reefknot.stage!.cameraNumbers);
  }

  async picture(): Promise<Picture> {
    const text = await this.page.evaluate(async () => {
      const bytes = new Uint8Array(await (await window.reefknot.stage!.png()).arrayBuffer());
      let letters = "";
      for (let at = 0; at < bytes.length; at += 8192)
        letters += String.fromCharCode(...bytes.subarray(at, at + 8192));
      return btoa(letters);
    });
    return Picture.decode(Buffer.from(text, "base64"));
  }

  id(name: string): Locator {
    return this.page.locator(`#${name}`);
  }

  get message(): Locator {
    return this.id("message");
  }

  get legend(): Locator {
    return this.id("legend");
  }

  // Button of the panel with a label.
  button(words: string): Locator {
    return this.id("panel").locator(".buttons button", { hasText: new RegExp(`^${words}$`) });
  }

  // Row of an object in the panel.
  object(name: string): Locator {
    return this.id("panel").locator(".row", { has: this.page.getByText(name, { exact: true }) });
  }

  value(chart: string, series: string, run = 0): Locator {
    return this.page.locator(
      `.plot .value[data-chart="${chart}"][data-series="${series}"][data-run="${run}"]`,
    );
  }

  // Value in the table of the selected vertex.
  async picked(name: string): Promise<string | undefined> {
    const rows = await this.page
      .locator("#picked tr")
      .evaluateAll((all) =>
        all.map((row) => [...row.children].map((cell) => cell.textContent ?? "")),
      );
    return rows.find(([first]) => first === name)?.[1];
  }

  // Position of a point of the scene on the page (pixels).
  async place(point: number[]): Promise<[number, number]> {
    return this.page.evaluate((at) => {
      const { camera, canvas } = window.reefknot.stage!;
      const times = (m: number[], [x, y, z, w]: number[]) =>
        [0, 1, 2, 3].map((r) => m[r]! * x! + m[r + 4]! * y! + m[r + 8]! * z! + m[r + 12]! * w!);
      const [x, y, , w] = times(
        camera.projectionMatrix.elements,
        times(camera.matrixWorldInverse.elements, [...at, 1]),
      );
      const { left, top, width, height } = canvas.getBoundingClientRect();
      return [left + (width * (1 + x! / w!)) / 2, top + (height * (1 - y! / w!)) / 2] as [
        number,
        number,
      ];
    }, point);
  }

  // Red pixels of the time line, by position from 0 to 1 along the line.
  async redMarks(): Promise<number[]> {
    return this.id("marks").evaluate((canvas: HTMLCanvasElement) => {
      const { width, height } = canvas;
      const { data } = canvas.getContext("2d")!.getImageData(0, 0, width, height);
      const places: number[] = [];
      for (let i = 0; i < width * height; i++) {
        const [r, g, b, a] = data.subarray(4 * i, 4 * i + 4);
        if (a! > 100 && r! > 150 && g! < 90 && b! < 90) places.push((i % width) / width);
      }
      return places;
    });
  }
}
