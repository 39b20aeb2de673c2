// The page: runs, image, time line and plots, synchronised.

import { find, make, brief, duration } from "./elements";
import { listenToKeys, showHelp } from "./keys";
import { readLook, writeLook, type Look } from "./look";
import { Pane } from "./pane";
import { Panel, legend } from "./panel";
import { pick, type Picked } from "./pick";
import { Plots } from "./plots";
import { remarksOf, type Remark } from "./remarks";
import { Run, type SceneObject } from "./run";
import type { Index, Source } from "./source";
import { Stage, type renderingSupport } from "./stage";
import { Timeline } from "./timeline";

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];
// Polling intervals of the folder of a run (ms): during computation, and otherwise.
const POLL_INTERVAL_RUNNING = 700;
const POLL_INTERVAL_IDLE = 4000;
// Frames to prefetch during playback, and limit of concurrent requests per run.
const PREFETCHED_FRAMES = 8;
const MAX_CONCURRENT_LOADS = 2;

export class App {
  readonly look: Look;
  readonly stage: Stage | undefined;
  readonly runs: Run[];
  // Displayed time, in frames of the first run.
  position = 0;
  isPlaying = false;
  private isFollowing = false;
  private speed = 1;
  private progress = 0;
  private lastTick = 0;
  private panes: (Pane | undefined)[];
  private isLoadingFrame: boolean[];
  // Objects of each run when it was opened: another run may replace it in its folder.
  private readonly opened: SceneObject[][] = [];
  // Whether the last poll of the runs failed.
  private isDisconnected = false;
  // Error of the last frame request, until another frame is shown.
  private frameError = "";
  private remarks: Remark[][] = [];
  private picked: { run: number; place: Picked } | undefined;
  // View settings of the page address.
  private readonly address: string;
  private readonly panel: Panel;
  private readonly plots: Plots;
  private readonly timeline = new Timeline(find<HTMLCanvasElement>("marks"));
  private readonly scrub = find<HTMLInputElement>("scrub");

  constructor(
    readonly source: Source,
    readonly index: Index,
    support: ReturnType<typeof renderingSupport>,
  ) {
    this.address = location.search.slice(1) || (index.look ?? "");
    this.look = readLook(this.address);
    this.runs = index.runs.map(({ path }, number) => new Run(source, number, path));
    this.panes = this.runs.map(() => undefined);
    this.isLoadingFrame = this.runs.map(() => false);
    this.panel = new Panel(find("panel"), this.look, () => this.restyle());
    this.plots = new Plots(find("plots"), (time) => this.seek(Math.round(time * this.rate)));
    if (support !== "none") {
      // Antialiasing takes more than twice the time without a graphics processor.
      const ratio = support === "hardware" ? Math.min(2, devicePixelRatio) : 1;
      this.stage = new Stage(find<HTMLCanvasElement>("canvas"), {
        isSmooth: support === "hardware",
        ratio,
        drawsItself: true,
      });
      this.stage.onDrawn = () => this.countPictures();
    } else {
      this.showMessage(
        "This browser cannot display the scene: it has no WebGL 2.\n" +
          "Enable hardware acceleration in its settings, or use a current Firefox, Chrome, Edge " +
          "or Safari. Plots and numbers work without it.",
      );
    }
    this.listen();
    listenToKeys(this);
  }

  async start(): Promise<void> {
    await this.pollRuns();
    const frame = Number(new URLSearchParams(this.address).get("frame"));
    if (frame > 0) this.seek(frame);
    requestAnimationFrame((now) => this.tick(now));
  }

  // Polls the runs, and schedules the next poll.
  private async pollRuns(): Promise<void> {
    try {
      const wasAtEnd = this.position >= this.last;
      const changes = await Promise.all(this.runs.map((run) => run.poll()));
      for (const [i, run] of this.runs.entries())
        if (run.isOpen && this.opened[i] !== run.objects) await this.open(i);
      if (changes.some(Boolean) || this.isDisconnected) this.refresh(wasAtEnd);
      this.isDisconnected = false;
    } catch (error) {
      this.isDisconnected = true;
      this.showMessage(error instanceof Error ? error.message : String(error));
    }
    if (!this.source.isLive) return;
    const isGrowing = this.runs.some(
      (run) => run.status.state === "running" || run.status.state === "empty",
    );
    setTimeout(() => void this.pollRuns(), isGrowing ? POLL_INTERVAL_RUNNING : POLL_INTERVAL_IDLE);
  }

  // Builds the graphics of a newly opened run, and shows its first frame.
  private async open(number: number): Promise<void> {
    const run = this.runs[number]!;
    this.opened[number] = run.objects;
    if (this.picked?.run === number) this.picked = undefined;
    const frames = [...new Set([run.nearestFrame(0), run.lastFrame])];
    const loads = await Promise.allSettled(frames.map((frame) => run.load(frame)));
    const whole = loads.flatMap((load, i) =>
      load.status === "fulfilled" ? [{ frame: frames[i]!, file: load.value }] : [],
    );
    const failed = loads.find((load) => load.status === "rejected");
    if (failed) this.frameError = String((failed.reason as Error).message);
    if (this.stage && whole[0]) {
      this.panes[number]?.dispose();
      const pane = new Pane(run);
      pane.measureBounds(whole.map(({ file }) => file));
      this.panes[number] = pane;
      this.stage.panes = this.panes.filter((other) => other !== undefined);
      pane.show(whole[0].frame, whole[0].file);
      this.stage.applyLook(this.look);
      this.stage.fitView(this.look.camera);
      this.stage.markMotion();
    }
    if (run.status.state === "running") this.isFollowing = true;
    this.panel.show(this.openRuns);
    this.panel.showPicked(undefined, undefined, undefined);
    const scenes = this.openRuns.map((other) => other.manifest.scene);
    document.title = `${scenes.join(" and ")} – reefknot`;
    find("title").textContent = run.manifest.title;
    find("labels").replaceChildren(
      ...(this.runs.length > 1 ? this.runs.map((other) => make("span", {}, other.path)) : []),
    );
  }

  private get openRuns(): Run[] {
    return this.runs.filter((run) => run.isOpen);
  }

  private get rate(): number {
    return this.openRuns[0]?.manifest.frame_rate ?? 24;
  }

  // Frames of the first run per frame of another.
  private scale(run: Run): number {
    return this.rate / run.manifest.frame_rate;
  }

  // Last position on the time line with a frame.
  get last(): number {
    return Math.max(0, ...this.openRuns.map((run) => Math.round(run.lastFrame * this.scale(run))));
  }

  // Updates the page after a poll.
  private refresh(wasAtEnd: boolean): void {
    this.remarks = this.openRuns.map(remarksOf);
    this.plots.update(this.openRuns);
    this.showState();
    if (this.isFollowing && wasAtEnd) this.position = this.last;
    this.seek(this.position, this.isFollowing);
  }

  private showState(): void {
    const state = find("state");
    const words = this.runs.map((run) => stateOf(run));
    state.textContent = words.join(" | ");
    const unfinished = this.runs.find((run) => run.status.state !== "finished");
    state.className = `badge ${unfinished?.status.state ?? "finished"}`;
    const messages = this.runs.flatMap((run) => run.status.message ?? []);
    if (messages.length > 0) this.showMessage(messages.join("\n"));
    else if (this.runs.some((run) => run.status.state === "empty"))
      this.showMessage("The run is starting; its first frame appears as soon as it is stored.");
    else if (this.stage) this.showMessage(this.frameError);
    const live = find("live");
    live.hidden = !this.runs.some((run) => run.status.state === "running");
    live.classList.toggle("on", this.isFollowing);
    for (const isViolation of [true, false]) {
      const button = find<HTMLButtonElement>(isViolation ? "violations" : "remarks");
      const found = this.remarks.flat().filter((remark) => remark.isViolation === isViolation);
      button.hidden = found.length === 0;
      button.textContent = isViolation
        ? `certificate violated in ${steps(found.length)} ▸`
        : `${steps(found.length)} with fail-safe, halving or large error ▸`;
      button.title = found
        .slice(0, 12)
        .map((remark) => remark.sentence)
        .join("\n");
    }
  }

  showMessage(sentence: string): void {
    const message = find("message");
    message.hidden = sentence === "";
    message.textContent = sentence;
  }

  // Shows a position of the time line.
  seek(position: number, keepFollowing = false): void {
    if (!Number.isFinite(position)) return;
    this.position = Math.min(Math.max(0, Math.round(position)), this.last);
    if (!keepFollowing) this.isFollowing = this.isFollowing && this.position === this.last;
    find("live").classList.toggle("on", this.isFollowing);
    for (let i = 0; i < this.panes.length; i++) void this.showRequestedFrame(i);
    this.showPosition();
  }

  step(frames: number): void {
    this.pause();
    this.seek(this.position + frames);
  }

  // Jumps to the next remark, and shows its text.
  jump(isViolation: boolean): void {
    const found = this.remarks.flatMap((remarks, i) =>
      remarks
        .filter((remark) => remark.isViolation === isViolation)
        .map((remark) => ({
          ...remark,
          place: Math.round(remark.frame * this.scale(this.openRuns[i]!)),
        })),
    );
    found.sort((a, b) => a.place - b.place);
    const next = found.find((remark) => remark.place > this.position) ?? found[0];
    if (!next) return;
    this.pause();
    this.seek(next.place);
    this.showMessage(
      found
        .filter((remark) => remark.place === next.place)
        .slice(0, 6)
        .map((remark) => remark.sentence)
        .join("\n"),
    );
  }

  // Loads and shows the requested frame of a run. Requests during a load are skipped, except the
  // newest.
  private async showRequestedFrame(number: number): Promise<void> {
    const run = this.runs[number]!;
    if (this.isLoadingFrame[number] || !run.isOpen) return;
    this.isLoadingFrame[number] = true;
    try {
      for (;;) {
        const wanted = this.frameOf(run);
        const pane = this.panes[number];
        if (!pane || pane.frame === wanted) break;
        const file = run.loaded(wanted) ?? (await run.load(wanted));
        if (this.frameOf(run) !== wanted || this.panes[number] !== pane) continue;
        pane.show(wanted, file);
        this.stage?.applyLook(this.look);
        if (this.frameError !== "") {
          this.frameError = "";
          this.showState();
        }
        this.showPosition();
      }
    } catch (error) {
      this.pause();
      this.frameError = error instanceof Error ? error.message : String(error);
      this.showMessage(this.frameError);
    } finally {
      this.isLoadingFrame[number] = false;
    }
  }

  private frameOf(run: Run): number {
    return run.nearestFrame(Math.round(this.position / this.scale(run)));
  }

  private showPosition(): void {
    if (this.openRuns.length === 0) return;
    this.scrub.max = String(
      Math.max(1, ...this.openRuns.map((run) => Math.round(run.manifest.frames * this.scale(run)))),
    );
    this.scrub.value = String(this.position);
    const time = this.position / this.rate;
    const missing = this.openRuns.filter(
      (run) =>
        run.lastFrame > 0 &&
        this.frameOf(run) !== Math.min(run.lastFrame, Math.round(this.position / this.scale(run))),
    );
    find("clock").classList.toggle("missing", missing.length > 0);
    find("clock").title = missing
      .map((run) => `${run.path}: this frame is not stored; frame ${this.frameOf(run)} is shown`)
      .join("\n");
    find("clock").textContent =
      `frame ${this.position} of ${this.scrub.max} · ${time.toFixed(3)} s`;
    this.timeline.draw(
      this.openRuns,
      this.remarks,
      this.openRuns.map((other) => this.scale(other)),
      Number(this.scrub.max),
    );
    this.plots.showTime(time);
    if (this.stage) find("legend").replaceChildren(...legend(this.look, this.stage.scales));
    this.showPicked();
  }

  private showPicked(): void {
    const pane = this.picked && this.panes[this.picked.run];
    for (const other of this.stage?.panes ?? [])
      other.mark(other === pane ? this.picked?.place : undefined);
    this.panel.showPicked(pane?.run, this.picked?.place, pane?.file);
    this.stage?.redraw();
  }

  // Applies a change of view settings.
  restyle(): void {
    this.stage?.applyLook(this.look);
    this.panel.show(this.openRuns);
    this.showPosition();
  }

  get pickedObject(): string | undefined {
    return this.picked && this.runs[this.picked.run]?.objects[this.picked.place.object]?.name;
  }

  isolate(name: string): void {
    this.panel.isolate(name, [
      ...new Set(this.openRuns.flatMap((run) => run.objects.map((object) => object.name))),
    ]);
  }

  unpick(): void {
    this.picked = undefined;
    this.showPicked();
  }

  play(): void {
    if (this.position >= this.last) this.seek(0);
    this.isPlaying = true;
    this.progress = 0;
    this.stage?.resetTimes();
    this.showPlaying();
  }

  pause(): void {
    this.isPlaying = false;
    this.showPlaying();
  }

  private showPlaying(): void {
    find("play")
      .querySelector("path")!
      .setAttribute("d", this.isPlaying ? "M4 3h3v10H4zM9 3h3v10H9z" : "M4 2v12l9-6z");
  }

  toggle(): void {
    if (this.isPlaying) this.pause();
    else this.play();
  }

  changeSpeed(by: number): void {
    const at = SPEEDS.indexOf(this.speed) + by;
    this.speed = SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, at))]!;
    find<HTMLSelectElement>("speed").value = String(this.speed);
  }

  private tick(now: number): void {
    requestAnimationFrame((next) => this.tick(next));
    const passed = Math.min(0.25, (now - this.lastTick) / 1000);
    this.lastTick = now;
    if (!this.isPlaying) return;
    this.stage?.markMotion();
    // Playback waits for a frame that is not loaded yet; it never skips one.
    const isShown = this.panes.every(
      (pane, i) => !pane || pane.frame === this.frameOf(this.runs[i]!),
    );
    if (!isShown) return;
    this.progress += passed * this.rate * this.speed;
    this.fetchAhead();
    if (this.progress < 1) return;
    const frames = this.isLoaded(this.position + 2) ? Math.floor(this.progress) : 1;
    this.progress -= Math.floor(this.progress);
    if (this.position + frames <= this.last) this.seek(this.position + frames);
    else if (find<HTMLInputElement>("loop").checked) this.seek(0);
    else {
      this.seek(this.last);
      if (!this.runs.some((run) => run.status.state === "running")) this.pause();
    }
  }

  private isLoaded(position: number): boolean {
    return this.openRuns.every(
      (run) => run.loaded(run.nearestFrame(Math.round(position / this.scale(run)))) !== undefined,
    );
  }

  private fetchAhead(): void {
    for (const run of this.openRuns) {
      for (
        let ahead = 1;
        ahead <= PREFETCHED_FRAMES && run.pendingLoads < MAX_CONCURRENT_LOADS;
        ahead++
      ) {
        const frame = run.nearestFrame(Math.round((this.position + ahead) / this.scale(run)));
        // An unreadable frame is reported when it is shown.
        if (run.loaded(frame) === undefined) run.load(frame).catch(() => {});
      }
    }
  }

  private countPictures(): void {
    if (!document.body.dataset["ready"])
      document.body.dataset["ready"] = performance.now().toFixed(0);
    const { costs, intervals } = this.stage!.pictures;
    if (costs.length < 3) return;
    const mean = (times: readonly number[]) =>
      times.slice(-30).reduce((sum, time) => sum + time, 0) / Math.min(30, times.length);
    const share = this.stage!.share;
    const less =
      share < 1 ? ` · ${brief(Math.round(1000 * share) / 10)} % of rods during motion` : "";
    const rate = intervals.length > 2 ? ` · ${Math.round(1000 / mean(intervals))} per second` : "";
    find("counter").textContent = `${mean(costs).toFixed(1)} ms per image${rate}${less}`;
  }

  async savePng(): Promise<void> {
    if (!this.stage) return;
    const link = make("a", { href: URL.createObjectURL(await this.stage.png()) });
    const scene = this.openRuns[0]?.manifest.scene ?? "reefknot";
    link.download = `${scene}-${String(this.position).padStart(5, "0")}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  // The view settings as text, for an address or `render --look`.
  async copyLook(): Promise<void> {
    const text = writeLook({ ...this.look, camera: this.stage?.cameraNumbers });
    try {
      await navigator.clipboard.writeText(text);
      this.showMessage(`Copied for \`reefknot render RUN --look\`:\n${text}`);
    } catch {
      this.showMessage(`For \`reefknot render RUN --look\`:\n${text}`);
    }
    setTimeout(() => this.showState(), 6000);
  }

  togglePlots(): void {
    const plots = find("plots");
    plots.hidden = !plots.hidden;
  }

  private listen(): void {
    const press = (id: string, action: () => void) => find(id).addEventListener("click", action);
    press("first", () => this.step(-this.position));
    press("back", () => this.step(-1));
    press("play", () => this.toggle());
    press("next", () => this.step(1));
    press("last", () => this.step(this.last - this.position));
    press("live", () => {
      this.isFollowing = !this.isFollowing;
      this.seek(this.isFollowing ? this.last : this.position, true);
    });
    press("violations", () => this.jump(true));
    press("remarks", () => this.jump(false));
    press("save", () => void this.savePng());
    press("copy", () => void this.copyLook());
    press("help-button", showHelp);
    press("plots-button", () => this.togglePlots());
    this.scrub.addEventListener("input", () => {
      this.pause();
      this.stage?.markMotion();
      this.seek(Number(this.scrub.value));
    });
    const speed = find<HTMLSelectElement>("speed");
    speed.append(
      ...SPEEDS.map((value) =>
        make("option", { value: String(value), selected: value === 1 }, `${value}×`),
      ),
    );
    speed.addEventListener("change", () => (this.speed = Number(speed.value)));
    addEventListener("resize", () => this.showPosition());
    this.listenToPicks();
  }

  // A click without a drag selects the vertex under the pointer.
  private listenToPicks(): void {
    const canvas = find<HTMLCanvasElement>("canvas");
    let from = [0, 0];
    canvas.addEventListener("pointerdown", (event) => (from = [event.clientX, event.clientY]));
    canvas.addEventListener("pointerup", (event) => {
      const isDrag = Math.hypot(event.clientX - from[0]!, event.clientY - from[1]!) > 4;
      const under = this.stage?.paneAt(event.clientX, event.clientY);
      if (isDrag || event.button !== 0 || !under || !this.stage) return;
      const place = pick(
        under.pane,
        under.place,
        this.stage.camera,
        canvas.clientHeight,
        this.look.hidden,
      );
      this.picked = place && { run: under.pane.run.number, place };
      this.showPicked();
    });
  }
}

function steps(count: number): string {
  return count === 1 ? "1 step" : `${count} steps`;
}

// State of a run as text.
function stateOf(run: Run): string {
  const { state } = run.status;
  if (!run.isOpen) return state === "empty" ? "no frames yet" : state;
  const total = run.manifest.frames;
  const left = run.secondsLeft;
  const remaining = left === undefined ? "" : `, ${duration(left)} left`;
  switch (state) {
    case "running":
      return `running: frame ${run.lastFrame} of ${total}${remaining}`;
    case "stopped":
      return `stopped at frame ${run.lastFrame} of ${total}; --resume continues`;
    case "finished":
      return `finished: ${total} frames`;
    default:
      return state;
  }
}
