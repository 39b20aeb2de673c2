// `reefknot render`: draws frames one after the other and hands them to the program.

import { find } from "./elements";
import { readLook, unknownWords } from "./look";
import { Pane } from "./pane";
import { Run } from "./run";
import type { Index, Source } from "./source";
import { Stage, abilityToDraw } from "./stage";

// Pictures are drawn this much larger and then made smaller, so that a hair is not a row of dots; very large ones are not.
const FINER = 2;
const LARGEST = 8192;

export async function doJob(source: Source, index: Index, token: string): Promise<void> {
  const post = (what: string, body: BodyInit) => fetch(`job/${token}/${what}`, { method: "POST", body });
  try {
    await drawAll(source, index, post);
  } catch (error) {
    post("error", error instanceof Error ? error.message : String(error)).catch(() => {});
    return;
  }
  // The program ends when it hears this, perhaps without an answer.
  post("done", "").catch(() => {});
}

async function drawAll(source: Source, index: Index, post: (what: string, body: BodyInit) => Promise<Response>): Promise<void> {
  const job = index.job!;
  if (abilityToDraw() === "none") throw new Error("this browser cannot draw: it has no WebGL 2");
  const unknown = unknownWords(job.look);
  if (unknown.length > 0) throw new Error(`--look has ${unknown.join(", ")}, which means nothing; the page's "copy look" gives an example`);
  document.body.classList.add("job");
  const picture = find("picture");
  Object.assign(picture.style, { width: `${job.width}px`, height: `${job.height}px`, flex: "none" });
  const look = readLook(job.look);
  const run = new Run(source, 0, index.runs[0]!.path);
  await run.look();
  if (!run.isOpen) throw new Error(run.status.message ?? "there is no run");
  const ratio = FINER * Math.max(job.width, job.height) <= LARGEST ? FINER : 1;
  const stage = new Stage(find<HTMLCanvasElement>("canvas"), { isSmooth: false, ratio, drawsItself: false });
  const pane = new Pane(run);
  stage.panes = [pane];
  pane.frameBox([await run.load(job.frames[0]!), await run.load(job.frames.at(-1)!)]);
  stage.frameScene(look.camera);
  // Colours and arrows have one range for all pictures, so each frame is read before the first is drawn.
  if (look.forces || ((look.colour === "speed" || look.colour === "strain") && look.range === 0)) {
    for (const frame of job.frames) pane.survey(await run.load(frame), look);
  }
  const smaller = new OffscreenCanvas(job.width, job.height);
  const context = smaller.getContext("2d")!;
  context.imageSmoothingQuality = "high";
  for (const frame of job.frames) {
    pane.show(frame, await run.load(frame));
    stage.dress(look);
    stage.draw();
    context.drawImage(stage.canvas, 0, 0, job.width, job.height);
    const answer = await post(`frames/${frame}`, await smaller.convertToBlob({ type: "image/png" }));
    if (!answer.ok) throw new Error(await answer.text());
  }
}
