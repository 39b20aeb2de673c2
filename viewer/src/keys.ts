// Keyboard shortcuts.

import { find, make } from "./elements";
import type { App } from "./app";
import { COLOURINGS, type Colouring } from "./colour";

const KEYS: [string, string][] = [
  ["space", "play or pause"],
  ["← →", "previous or next frame; ten with shift"],
  ["Home End", "first or last frame"],
  ["[ ]", "slower or faster"],
  ["1 2 3 4", "colour by object, speed, strain, or stick and slip"],
  ["C N R", "contacts, their normals, their forces on or off"],
  ["W G L", "wireframe, ground, shadows on or off"],
  ["F", "fit the whole scene"],
  ["H I A", "hide the selected object, show it alone, show all"],
  ["V", "go to the next violated certificate"],
  ["P", "show or hide plots"],
  ["S", "save a PNG"],
  ["Esc", "deselect the vertex"],
  [
    "mouse",
    "drag to rotate, drag with the right button to pan, wheel to zoom, click to select a vertex",
  ],
];

export function showHelp(): void {
  const help = find<HTMLDialogElement>("help");
  if (help.open) {
    help.close();
    return;
  }
  const table = make("table");
  for (const [keys, what] of KEYS) {
    const cell = make("td");
    for (const key of keys.split(" ")) cell.append(make("kbd", {}, key), " ");
    table.append(make("tr", {}, cell, make("td", {}, what)));
  }
  const close = make("button", {}, "close");
  close.addEventListener("click", () => help.close());
  help.replaceChildren(make("h1", {}, "Keys"), table, close);
  help.showModal();
}

export function listenToKeys(app: App): void {
  addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLInputElement && event.target.type === "number";
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    const action = actionOf(app, event);
    if (!action) return;
    event.preventDefault();
    action();
  });
}

function actionOf(app: App, event: KeyboardEvent): (() => void) | undefined {
  const { look } = app;
  const flip =
    (name: "contacts" | "normals" | "forces" | "wireframe" | "grid" | "shadows") => () => {
      look[name] = !look[name];
      app.restyle();
    };
  const many = event.shiftKey ? 10 : 1;
  const actions: Record<string, () => void> = {
    " ": () => app.toggle(),
    arrowleft: () => app.step(-many),
    arrowright: () => app.step(many),
    home: () => app.step(-app.position),
    end: () => app.step(app.last - app.position),
    "[": () => app.changeSpeed(-1),
    "]": () => app.changeSpeed(1),
    c: flip("contacts"),
    n: flip("normals"),
    r: flip("forces"),
    w: flip("wireframe"),
    g: flip("grid"),
    l: flip("shadows"),
    f: () => app.stage?.fitView(undefined, true),
    h: () => hide(app),
    i: () => app.pickedObject && app.isolate(app.pickedObject),
    a: () => showAll(app),
    v: () => app.jump(true),
    p: () => app.togglePlots(),
    s: () => void app.savePng(),
    escape: () => app.unpick(),
    "?": showHelp,
  };
  const colouring = Object.keys(COLOURINGS)[Number(event.key) - 1];
  if (colouring !== undefined) return () => colourBy(app, colouring as Colouring);
  return actions[event.key.toLowerCase()];
}

function colourBy(app: App, colouring: Colouring): void {
  app.look.colour = colouring;
  app.restyle();
}

function hide(app: App): void {
  if (!app.pickedObject) return;
  app.look.hidden.add(app.pickedObject);
  app.unpick();
  app.restyle();
}

function showAll(app: App): void {
  app.look.hidden.clear();
  app.restyle();
}
