// What in a run deserves a look: steps whose certificate is violated, and steps that needed help.

import type { Run, Step } from "./run";

// Errors above so many tolerances deserve a look: solvers stop close to the tolerance, on either side.
const LARGE = 2;

export interface Remark {
  frame: number;
  step: number;
  isViolation: boolean;
  sentence: string;
}

export function remarksOf(run: Run): Remark[] {
  const tolerance = run.manifest.tolerance_m ?? Infinity;
  return run.steps.flatMap((step): Remark[] => {
    const frame = run.frameOfStep(step.step);
    const violated = violation(step);
    if (violated) return [{ frame, step: step.step, isViolation: true, sentence: violated }];
    const helped = help(step, tolerance);
    return helped ? [{ frame, step: step.step, isViolation: false, sentence: helped }] : [];
  });
}

function violation(step: Step): string | undefined {
  const count = step.intersections ?? 0;
  if (count > 0) return `step ${step.step}: ${count} ${count === 1 ? "pair meets" : "pairs meet"} or came too close`;
  const numbers = [step.contact_error_m, step.momentum_error_m, step.max_stretch];
  if (numbers.some((value) => value !== null && !Number.isFinite(value))) return `step ${step.step}: numbers are not finite`;
  return undefined;
}

function help(step: Step, tolerance: number): string | undefined {
  const words: string[] = [];
  if (step.failsafe) words.push("the fail-safe changed the motion");
  if (step.halvings > 0) words.push("the step was halved");
  const error = step.contact_error_m ?? 0;
  if (error > LARGE * tolerance) words.push(`contact error ${error.toExponential(1)} m, with a tolerance of ${tolerance.toExponential(0)} m`);
  return words.length > 0 ? `step ${step.step}: ${words.join("; ")}` : undefined;
}
