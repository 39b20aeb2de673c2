// Helpers that create and find elements of the page, and format numbers.

type Child = Node | string;

export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Partial<HTMLElementTagNameMap[K]> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

export function find<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no element "${id}"`);
  return element as T;
}

// A number with three or four significant digits.
export function brief(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3)
    return Number(value.toPrecision(3)).toExponential().replace("e+", "e");
  if (Number.isInteger(value)) return String(value);
  return String(Number(value.toPrecision(4)));
}

// A duration as text.
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  const minutes = Math.round(seconds / 60);
  if (seconds < 1) return "less than 1 s";
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
