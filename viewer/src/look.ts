// View settings (a look), as text in the address of the page and in `--look`.

import { COLOURINGS, type Colouring } from "./colour";

export interface Look {
  colour: Colouring;
  // Value at the end of the colour map; 0: the largest so far.
  range: number;
  contacts: boolean;
  normals: boolean;
  forces: boolean;
  // Scale of arrows, 1 by default.
  arrows: number;
  wireframe: boolean;
  grid: boolean;
  shadows: boolean;
  hidden: Set<string>;
  // Position and target of the camera (m); undefined: fit the whole scene.
  camera: number[] | undefined;
}

const SWITCHES = ["contacts", "normals", "forces", "wireframe"] as const;

export function readLook(text: string): Look {
  const values = new URLSearchParams(text);
  const isOn = (name: string) => ["1", "true", "yes"].includes(values.get(name) ?? "");
  const positive = (name: string, otherwise: number) => {
    const number = Number(values.get(name));
    return number > 0 && Number.isFinite(number) ? number : otherwise;
  };
  const colour = values.get("colour") ?? values.get("color") ?? "object";
  const camera = values.get("camera")?.split(",").map(Number);
  return {
    colour: Object.hasOwn(COLOURINGS, colour) ? (colour as Colouring) : "object",
    range: positive("range", 0),
    contacts: isOn("contacts"),
    normals: isOn("normals"),
    forces: isOn("forces"),
    arrows: positive("arrows", 1),
    wireframe: isOn("wireframe"),
    grid: values.get("grid") !== "0",
    shadows: values.get("shadows") !== "0",
    hidden: new Set((values.get("hide") ?? "").split(",").filter((name) => name !== "")),
    camera: camera?.length === 6 && camera.every(Number.isFinite) ? camera : undefined,
  };
}

// Unknown keys of a look, and an unknown colouring.
export function unknownKeys(text: string): string[] {
  const known = [
    "colour",
    "color",
    "range",
    "arrows",
    "grid",
    "shadows",
    "hide",
    "camera",
    "frame",
    ...SWITCHES,
  ];
  const values = new URLSearchParams(text);
  const words = [...values.keys()].filter((name) => !known.includes(name));
  const colour = values.get("colour") ?? values.get("color");
  if (colour !== null && !Object.hasOwn(COLOURINGS, colour)) words.push(`colour=${colour}`);
  return words;
}

export function writeLook(look: Look): string {
  const values: string[] = [];
  if (look.colour !== "object") values.push(`colour=${look.colour}`);
  if (look.range > 0) values.push(`range=${look.range}`);
  for (const name of SWITCHES) if (look[name]) values.push(`${name}=1`);
  if (look.arrows !== 1) values.push(`arrows=${look.arrows}`);
  if (!look.grid) values.push("grid=0");
  if (!look.shadows) values.push("shadows=0");
  if (look.hidden.size > 0)
    values.push(`hide=${[...look.hidden].map(encodeURIComponent).join(",")}`);
  if (look.camera)
    values.push(`camera=${look.camera.map((x) => Number(x.toPrecision(5))).join(",")}`);
  return values.join("&");
}
