// Plots of the log of a run, with a line at the displayed time.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { brief, make } from "./elements";
import type { Run, Step } from "./run";

const COLOURS = [
  "#2f6fb5",
  "#d0624a",
  "#3d8f5f",
  "#b8860b",
  "#8f6fba",
  "#4fadb8",
  "#7a5230",
  "#777777",
];
const [WIDTH, HEIGHT] = [290, 104];
const PHASES = ["detect", "assemble", "linear", "contact", "gate", "certify", "write"];

interface Series {
  name: string;
  // Values of a run by step or by row of its probes, with their times.
  values: (run: Run) => { times: number[]; values: (number | null)[] };
}

interface Chart {
  title: string;
  series: Series[];
  isLogarithmic?: boolean;
  // Whether series are stacked.
  isStacked?: boolean;
}

export class Plots {
  private drawn: Drawn[] = [];
  private key = "";

  constructor(
    private readonly place: HTMLElement,
    private readonly seek: (time: number) => void,
  ) {}

  // Updates the plots from the current log.
  update(runs: Run[]): void {
    const charts = chartsOf(runs);
    const key = JSON.stringify([
      runs.length,
      charts.map((chart) => [chart.title, chart.series.map((series) => series.name)]),
    ]);
    if (key !== this.key) {
      this.key = key;
      this.drawn.forEach((drawn) => drawn.plot.destroy());
      this.place.replaceChildren();
      this.drawn = charts.map((chart) => new Drawn(chart, runs.length, this.place, this.seek));
    }
    this.drawn.forEach((drawn) => drawn.update(runs));
  }

  showTime(time: number): void {
    this.drawn.forEach((drawn) => drawn.showTime(time));
  }
}

class Drawn {
  readonly plot: uPlot;
  private readonly now = make("div", { className: "now" });
  private readonly cells: HTMLElement[] = [];
  private times: number[][] = [];
  private raw: (number | null)[][] = [];

  constructor(
    private readonly chart: Chart,
    private readonly runs: number,
    place: HTMLElement,
    seek: (time: number) => void,
  ) {
    const head = make("div", { className: "head" }, make("b", {}, chart.title));
    chart.series.forEach(({ name }, i) => {
      const entry = make("span", { className: "entry" });
      const mark = make("i");
      mark.style.background = COLOURS[i % COLOURS.length]!;
      entry.append(mark, chart.series.length > 1 ? `${name} ` : "");
      for (let run = 0; run < runs; run++) {
        const cell = make("span", { className: "value" });
        Object.assign(cell.dataset, { chart: chart.title, series: name, run: String(run) });
        if (run > 0) entry.append(" | ");
        entry.append(cell);
        this.cells.push(cell);
      }
      head.append(entry);
    });
    const box = make("div", { className: "plot" }, head);
    place.append(box);
    this.plot = new uPlot(this.options(), this.empty(), box);
    this.plot.over.append(this.now);
    const jump = (event: PointerEvent) =>
      seek(this.plot.posToVal(event.clientX - this.plot.over.getBoundingClientRect().left, "x"));
    this.plot.over.addEventListener("pointerdown", (event) => {
      this.plot.over.setPointerCapture(event.pointerId);
      jump(event);
    });
    this.plot.over.addEventListener("pointermove", (event) => {
      if (event.buttons === 1) jump(event);
    });
  }

  private empty(): uPlot.AlignedData {
    return [
      [],
      ...Array.from({ length: this.chart.series.length * this.runs }, () => []),
    ] as unknown as uPlot.AlignedData;
  }

  private options(): uPlot.Options {
    const { chart, runs } = this;
    const axis = {
      font: "10px system-ui",
      stroke: "#5d6a78",
      ticks: { show: false },
      grid: { stroke: "#eef1f4", width: 1 },
    };
    const isFilled = chart.isStacked && runs === 1;
    const bands = chart.series.slice(1).map((_, i) => ({
      series: [i + 2, i + 1] as [number, number],
      fill: `${COLOURS[(i + 1) % COLOURS.length]!}88`,
    }));
    const lines = chart.series.flatMap((_, i) =>
      Array.from({ length: runs }, (_, run): uPlot.Series => {
        const colour = COLOURS[i % COLOURS.length]!;
        const fill = isFilled && i === 0 ? { fill: `${colour}88` } : {};
        return {
          stroke: colour,
          width: 1.3,
          dash: run > 0 ? [4, 3] : [],
          points: { show: false },
          spanGaps: runs > 1,
          ...fill,
        };
      }),
    );
    return {
      width: WIDTH,
      height: HEIGHT,
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, points: { show: false }, y: false },
      scales: {
        x: { time: false, range: (_, least, most) => (most > least ? [least, most] : [0, 1]) },
        y: chart.isLogarithmic
          ? { distr: 3, range: (_, least, most) => decades(least, most) }
          : { range: (_, least, most) => padded(least, most) },
      },
      series: [{}, ...lines],
      bands: isFilled ? bands : [],
      axes: [
        { ...axis, size: 18, values: (_, splits) => splits.map((x) => `${brief(x)} s`) },
        {
          ...axis,
          size: 52,
          values: (_, splits) => splits.map((y) => (y === null ? "" : brief(y))),
        },
      ],
    };
  }

  update(runs: Run[]): void {
    const { chart } = this;
    this.raw = [];
    this.times = [];
    const tables = runs.map((run): uPlot.AlignedData => {
      const columns = chart.series.map((series) => series.values(run));
      const sums: number[] = [];
      const drawn = columns.map(({ times, values }) => {
        this.times.push(times);
        this.raw.push(values);
        return values.map((value, i) => {
          if (chart.isStacked) return (sums[i] = (sums[i] ?? 0) + (value ?? 0));
          return chart.isLogarithmic && !(value! > 0) ? null : value;
        });
      });
      return [columns[0]?.times ?? [], ...drawn] as uPlot.AlignedData;
    });
    // Series of both runs alternate, as in the options.
    const joined = tables.length > 1 ? uPlot.join(tables) : tables[0]!;
    const count = chart.series.length;
    const order = chart.series.flatMap((_, i) => runs.map((_, run) => 1 + run * count + i));
    this.plot.setData([joined[0], ...order.map((column) => joined[column]!)] as uPlot.AlignedData);
  }

  showTime(time: number): void {
    const x = this.plot.valToPos(time, "x");
    this.now.style.display =
      Number.isFinite(x) && x >= 0 && x <= this.plot.over.clientWidth ? "" : "none";
    this.now.style.left = `${x}px`;
    const count = this.chart.series.length;
    this.cells.forEach((cell, at) => {
      const column = (at % this.runs) * count + Math.floor(at / this.runs);
      cell.textContent = brief(valueAt(this.times[column] ?? [], this.raw[column] ?? [], time));
    });
  }
}

// Range of whole decades around values, at most 16.
export function decades(least: number | null, most: number | null): [number, number] {
  if (!(most! > 0) || !(least! > 0)) return [1e-9, 1];
  const top = Math.ceil(Math.log10(most!));
  return [10 ** Math.max(top - 16, Math.min(top - 1, Math.floor(Math.log10(least!)))), 10 ** top];
}

// Range of values with a margin. Values that differ in their last digits only become a level line,
// not noise of full height.
export function padded(least: number | null, most: number | null): [number, number] {
  if (!Number.isFinite(least) || !Number.isFinite(most)) return [0, 1];
  const size = Math.max(Math.abs(least!), Math.abs(most!));
  if (size < 1e-300) return [0, 1];
  const span = Math.max(most! - least!, 1e-6 * size);
  const middle = (most! + least!) / 2;
  return [
    Math.min(least!, middle - span / 2) - 0.06 * span,
    Math.max(most!, middle + span / 2) + 0.06 * span,
  ];
}

// Value of the last step that ended by a time.
export function valueAt(times: number[], values: (number | null)[], time: number): number | null {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! <= time + 1e-9) low = middle + 1;
    else high = middle;
  }
  return low > 0 ? (values[low - 1] ?? null) : null;
}

function chartsOf(runs: Run[]): Chart[] {
  const of = (name: string, value: (step: Step) => number | null): Series => ({
    name,
    values: (run) => ({ times: run.steps.map((step) => step.time), values: run.steps.map(value) }),
  });
  const sum = (name: string): Series => ({
    name,
    values: (run) => {
      let total = 0;
      return {
        times: run.steps.map((step) => step.time),
        values: run.steps.map((step) => (total += step.energy_j[name] ?? 0)),
      };
    },
  });
  const energy = (name: string) => of(name, (step) => step.energy_j[name] ?? null);
  const total = of("sum", (step) =>
    ["kinetic", "elastic", "gravity"].reduce((all, name) => all + (step.energy_j[name] ?? 0), 0),
  );
  return [
    { title: "contacts", series: [of("contacts", (step) => step.contacts)] },
    { title: "iterations", series: [of("iterations", (step) => step.iterations)] },
    {
      title: "error (m)",
      isLogarithmic: true,
      series: [
        of("contact", (step) => step.contact_error_m),
        of("momentum", (step) => step.momentum_error_m),
        of("nonlinear", (step) => step.nonlinear_error_m),
      ],
    },
    {
      title: "energy (J)",
      series: [energy("kinetic"), energy("elastic"), energy("gravity"), total],
    },
    {
      title: "accumulated energy flow (J)",
      series: ["work", "viscous", "contact", "numerical", "unbalanced"].map(sum),
    },
    {
      title: "step time (s)",
      isStacked: true,
      series: PHASES.map((phase) => of(phase, (step) => step.phases_s[phase] ?? 0)),
    },
    ...probeCharts(runs),
    { title: "smallest gap (m)", series: [of("gap", (step) => step.min_gap_m)] },
    { title: "largest stretch", series: [of("stretch", (step) => step.max_stretch)] },
  ];
}

// A chart for each probe, with three series for a vector.
function probeCharts(runs: Run[]): Chart[] {
  const charts = new Map<string, Chart>();
  for (const name of new Set(runs.flatMap((run) => run.probeNames))) {
    const [, probe, axis, unit] = /^(.*?)(?:\.([xyz]))? \[(.*)\]$/.exec(name) ?? [
      undefined,
      name,
      undefined,
      "1",
    ];
    const title = `${probe} (${unit})`;
    const chart = charts.get(title) ?? { title, series: [] };
    charts.set(title, chart);
    chart.series.push({
      name: axis ?? probe ?? name,
      values: (run) => {
        const column = run.probes[run.probeNames.indexOf(name)] ?? [];
        return {
          times: run.probeTimes,
          values: column.map((value) => (Number.isNaN(value) ? null : value)),
        };
      },
    });
  }
  return [...charts.values()];
}
