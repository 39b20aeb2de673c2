// The panel next to the image: colours, contacts, objects, and the selected vertex.

import {
  COLOURINGS,
  STATES,
  STATE_NAMES,
  colourOfObject,
  css,
  mapOf,
  type Colouring,
} from "./colour";
import { brief, make } from "./elements";
import type { Look } from "./look";
import type { Scales } from "./pane";
import type { Picked } from "./pick";
import type { Run } from "./run";
import type { TensorFile } from "./safetensors";

const DIGITS = 6;

export class Panel {
  private readonly picked = make("div");
  private readonly range = make("input", {
    type: "number",
    min: "0",
    step: "any",
    placeholder: "auto",
    title: "Value at the end of the colour scale; empty: the largest so far",
  });

  constructor(
    private readonly place: HTMLElement,
    private readonly look: Look,
    private readonly changed: () => void,
  ) {
    this.range.addEventListener("change", () => {
      this.look.range = Math.max(0, Number(this.range.value) || 0);
      this.changed();
    });
  }

  show(runs: Run[]): void {
    const { look } = this;
    this.range.value = look.range > 0 ? String(look.range) : "";
    this.place.replaceChildren(
      make("h2", {}, "Colour"),
      this.buttons(
        Object.entries(COLOURINGS).map(([name, label], i) => ({
          label,
          title: `Colour by ${label} (${i + 1})`,
          isOn: look.colour === name,
          press: () => (look.colour = name as Colouring),
        })),
      ),
      ...(look.colour === "speed" || look.colour === "strain"
        ? [
            make(
              "div",
              { className: "row" },
              "up to",
              this.range,
              look.colour === "speed" ? "m/s" : "",
            ),
          ]
        : []),
      make("h2", {}, "Show"),
      this.buttons([
        this.toggle("contacts", "contacts", "C"),
        this.toggle("normals", "normals", "N"),
        this.toggle("forces", "forces", "R"),
        this.toggle("wireframe", "wireframe", "W"),
        this.toggle("grid", "ground", "G"),
        this.toggle("shadows", "shadows", "L"),
      ]),
      make("h2", {}, "Objects"),
      ...this.objects(runs),
      make("h2", {}, "Vertex"),
      this.picked,
    );
  }

  private toggle(
    name: "contacts" | "normals" | "forces" | "wireframe" | "grid" | "shadows",
    label: string,
    key: string,
  ): Button {
    const { look } = this;
    return {
      label,
      title: `${label} (${key})`,
      isOn: look[name],
      press: () => (look[name] = !look[name]),
    };
  }

  private buttons(buttons: Button[]): HTMLElement {
    const row = make("div", { className: "buttons" });
    for (const { label, title, isOn, press } of buttons) {
      const button = make("button", { title, className: isOn ? "on" : "" }, label);
      button.setAttribute("aria-pressed", String(isOn));
      button.addEventListener("click", () => {
        press();
        this.changed();
      });
      row.append(button);
    }
    return row;
  }

  private objects(runs: Run[]): HTMLElement[] {
    const { look } = this;
    const objects = runs.flatMap((run) => run.objects.map((object) => ({ object, run })));
    const names = [...new Set(objects.map(({ object }) => object.name))];
    const rows = names.map((name) => {
      const { object, run } = objects.find((other) => other.object.name === name)!;
      const box = make("input", { type: "checkbox", checked: !look.hidden.has(name) });
      box.addEventListener("change", () => {
        if (box.checked) look.hidden.delete(name);
        else look.hidden.add(name);
        this.changed();
      });
      const swatch = make("span", { className: "swatch" });
      swatch.style.background = css(colourOfObject(object, run.objects));
      const only = make("button", { title: `Show only ${name}, or all objects again` }, "only");
      only.addEventListener("click", () => this.isolate(name, names));
      const label = make(
        "label",
        {},
        box,
        swatch,
        make("span", { className: "name" }, name),
        make("span", { className: "kind" }, object.kind),
      );
      return make("div", { className: "row" }, label, only);
    });
    return rows;
  }

  // Hides all other objects; if they are hidden already, shows them again.
  isolate(name: string, names: string[]): void {
    const { hidden } = this.look;
    const others = names.filter((other) => other !== name);
    const isAlone = !hidden.has(name) && others.every((other) => hidden.has(other));
    hidden.clear();
    if (!isAlone) others.forEach((other) => hidden.add(other));
    this.changed();
  }

  // Shows the values of the selected vertex in a frame.
  showPicked(run: Run | undefined, picked: Picked | undefined, file: TensorFile | undefined): void {
    if (!run || !picked || !file) {
      this.picked.replaceChildren(make("p", {}, "Click on an object to inspect a vertex."));
      return;
    }
    const rows = describe(run, picked, file);
    const table = make("table", { id: "picked" });
    for (const [name, value] of rows)
      table.append(make("tr", {}, make("td", {}, name), make("td", {}, value)));
    this.picked.replaceChildren(table);
  }
}

interface Button {
  label: string;
  title: string;
  isOn: boolean;
  press: () => void;
}

function describe(
  run: Run,
  { object: index, vertex }: Picked,
  file: TensorFile,
): [string, string][] {
  const object = run.objects[index]!;
  const three = (values: ArrayLike<number>) =>
    Array.from(values, (x) => Number(x.toPrecision(DIGITS))).join(", ");
  const of = (name: string) =>
    file.floats(`${object.name}/${name}`)?.subarray(3 * vertex, 3 * vertex + 3);
  const rows: [string, string][] = [
    ["object", `${object.name} (${object.kind})`],
    ["index", String(vertex)],
  ];
  const place = of("points");
  if (place) rows.push(["position", `${three(place)} m`]);
  const velocity = of("velocities");
  if (velocity) {
    rows.push(["velocity", `${three(velocity)} m/s`]);
    rows.push(["speed", `${brief(Math.hypot(...velocity))} m/s`]);
  }
  const pin = pinForce(file, index, vertex);
  if (pin) rows.push(["pin force", `${three(pin)} N (${brief(Math.hypot(...pin))} N)`]);
  return [...rows, ...contactForces(file, index, vertex, three)];
}

function pinForce(file: TensorFile, object: number, vertex: number): Float32Array | undefined {
  const [vertices, forces] = [file.integers("pin/vertices"), file.floats("pin/force")];
  for (let i = 0; vertices && forces && 2 * i < vertices.length; i++) {
    if (vertices[2 * i] === object && vertices[2 * i + 1] === vertex)
      return forces.subarray(3 * i, 3 * i + 3);
  }
  return undefined;
}

// Contacts in which this vertex has the largest weight of its object: total force, and each force.
function contactForces(
  file: TensorFile,
  object: number,
  vertex: number,
  three: (values: ArrayLike<number>) => string,
): [string, string][] {
  const [objects, vertices, forces] = [
    file.integers("contact/objects"),
    file.integers("contact/vertices"),
    file.floats("contact/force"),
  ];
  if (!objects || !forces) return [];
  if (!vertices) return [["contacts", "not available: the frame has no contact/vertices"]];
  const states = file.get("contact/state")?.data ?? [];
  const sum = [0, 0, 0];
  const rows: [string, string][] = [];
  for (let side = 0; side < objects.length; side++) {
    if (objects[side] !== object || vertices[side] !== vertex) continue;
    const contact = side >> 1;
    const sign = side % 2 === 0 ? 1 : -1;
    const force = [0, 1, 2].map((k) => sign * forces[3 * contact + k]!);
    force.forEach((value, k) => (sum[k]! += value));
    rows.push([STATE_NAMES[states[contact]!] ?? "contact", `${three(force)} N`]);
  }
  const total: [string, string] = [
    "contact force",
    rows.length > 0 ? `${three(sum)} N (${brief(Math.hypot(...sum))} N)` : "none",
  ];
  return [total, ...(rows.length > 1 ? rows.slice(0, 12) : rows)];
}

// Legend of colours and arrows.
export function legend(look: Look, { range, arrows }: Scales): Node[] {
  const parts: Node[] = [];
  if (look.colour === "speed" || look.colour === "strain") {
    const map = mapOf(look.colour);
    const stops = Array.from({ length: 12 }, (_, i) => {
      const at = 3 * Math.round((255 * i) / 11);
      return css([map[at]!, map[at + 1]!, map[at + 2]!]);
    });
    const bar = make("div", { className: "bar" });
    bar.style.background = `linear-gradient(90deg, ${stops.join(",")})`;
    const isStrain = look.colour === "strain";
    const percent = (value: number) => `${brief(100 * value)} %`;
    const ends = isStrain ? [percent(-range), "0", percent(range)] : ["0", `${brief(range)} m/s`];
    parts.push(
      make(
        "div",
        {},
        isStrain ? "strain relative to rest" : "speed",
        bar,
        make("div", { className: "ends" }, ...ends.map((end) => make("span", {}, end))),
      ),
    );
  }
  if (look.colour === "stick" || look.contacts || look.forces) {
    const key = make("div", { className: "ends" });
    STATE_NAMES.forEach((name, i) => {
      const swatch = make("span", { className: "swatch" });
      Object.assign(swatch.style, {
        background: css(STATES[i]!),
        display: "inline-block",
        marginRight: "4px",
      });
      key.append(make("span", {}, swatch, name));
    });
    parts.push(key);
  }
  if (look.forces && arrows > 0)
    parts.push(
      make("div", {}, `arrows: 1 cm per ${brief(Number((0.01 / arrows).toPrecision(3)))} N`),
    );
  return parts;
}
