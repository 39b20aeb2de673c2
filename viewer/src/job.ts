// `reefknot render`: draws the requested frames, and posts them to the program.

import { find } from "./elements";
import { readLook, unknownKeys } from "./look";
import { Pane } from "./pane";
import { Run } from "./run";
import type { Index, Source } from "./source";
import { Stage, renderingSupport } from "./stage";

// Supersampling factor, for continuous lines of thin hair; images beyond MAX_SIDE are not
// supersampled.
const SUPERSAMPLING = 2;
const MAX_SIDE = 8192;

export async function renderJob(source: Source, index: Index, token: string): Promise<void> {
  const post = (what: string, body: BodyInit) =>
    fetch(`job/${token}/${what}`, { method: "POST", body });
  try {
    await renderFrames(source, index, post);
  } catch (error) {
    post("error", error instanceof Error ? error.message : String(error)).catch(() => {});
    return;
  }
  // The program exits on this request, possibly without a response.
  post("done", "").catch(() => {});
}

async function renderFrames(
  source: Source,
  index: Index,
  post: (what: string, body: BodyInit) => Promise<Response>,
): Promise<void> {
  const job = index.job!;
  if (renderingSupport() === "none")
    throw new Error("this browser cannot render: it has no WebGL 2");
  const unknown = unknownKeys(job.look);
  if (unknown.length > 0)
    throw new Error(
      `--look has unknown settings: ${unknown.join(", ")}; ` +
        '"copy look" in the viewer copies valid ones',
    );
  document.body.classList.add("job");
  const picture = find("picture");
  Object.assign(picture.style, {
    width: `${job.width}px`,
    height: `${job.height}px`,
    flex: "none",
  });
  const look = readLook(job.look);
  const run = new Run(source, 0, index.runs[0]!.path);
  await run.poll();
  if (!run.isOpen) throw new Error(run.status.message ?? "the folder contains no run");
  const ratio = SUPERSAMPLING * Math.max(job.width, job.height) <= MAX_SIDE ? SUPERSAMPLING : 1;
  const stage = new Stage(find<HTMLCanvasElement>("canvas"), {
    isSmooth: false,
    ratio,
    drawsItself: false,
  });
  const pane = new Pane(run);
  stage.panes = [pane];
  pane.measureBounds([await run.load(job.frames[0]!), await run.load(job.frames.at(-1)!)]);
  stage.fitView(look.camera);
  // Colours and arrows have one range for all images, so all frames are read before the first is
  // drawn.
  if (look.forces || ((look.colour === "speed" || look.colour === "strain") && look.range === 0)) {
    for (const frame of job.frames) pane.extendRanges(await run.load(frame), look);
  }
  const smaller = new OffscreenCanvas(job.width, job.height);
  const context = smaller.getContext("2d")!;
  context.imageSmoothingQuality = "high";
  for (const frame of job.frames) {
    pane.show(frame, await run.load(frame));
    stage.applyLook(look);
    stage.draw();
    context.drawImage(stage.canvas, 0, 0, job.width, job.height);
    const response = await post(
      `frames/${frame}`,
      await smaller.convertToBlob({ type: "image/png" }),
    );
    if (!response.ok) throw new Error(await response.text());
  }
}
