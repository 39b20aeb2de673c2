// The time line: stored frames, loaded frames, and remarks.

import type { Remark } from "./remarks";
import type { Run } from "./run";

export class Timeline {
  constructor(private readonly canvas: HTMLCanvasElement) {}

  // `scale` converts frames of each run to positions on the line, `last` is the last position.
  draw(runs: Run[], remarks: Remark[][], scale: number[], last: number): void {
    const ratio = devicePixelRatio;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    const context = this.canvas.getContext("2d")!;
    context.scale(ratio, ratio);
    // The thumb of the slider is 6 pixels wide, and stays within the line.
    const x = (frame: number, run: number) =>
      3 + ((width - 6) * frame * scale[run]!) / Math.max(1, last);
    const rows = runs.length;
    runs.forEach((run, i) => {
      const top = 9 + (8 * i) / rows;
      const bar = (first: number, end: number, colour: string) => {
        context.fillStyle = colour;
        context.fillRect(
          x(first, i),
          top,
          Math.max(1.5, x(end, i) - x(first, i)),
          8 / rows - (rows > 1 ? 1 : 0),
        );
      };
      bar(0, run.manifest.frames, "#e6eaee");
      for (const [first, end] of run.status.frames) bar(first, end, "#c3ccd5");
      for (const frame of run.loadedFrames)
        bar(Math.max(0, frame - 0.5), Math.min(run.lastFrame, frame + 0.5), "#8fb2d6");
      for (const isViolation of [false, true]) {
        context.fillStyle = isViolation ? "#c62828" : "#e09a2b";
        for (const remark of remarks[i] ?? []) {
          if (remark.isViolation === isViolation)
            context.fillRect(
              x(remark.frame, i) - 1,
              isViolation ? 0 : 4,
              2,
              isViolation ? height : height - 8,
            );
        }
      }
    });
  }
}
