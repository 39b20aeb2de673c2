// Remarks on steps of a run: violated certificates, and steps with fail-safe, halving or large
// errors.

import type { Run, Step } from "./run";

// Contact errors above this multiple of the tolerance get a remark; solvers may stop slightly above
// the tolerance.
const LARGE_ERROR_FACTOR = 2;

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
    const notable = notableEvent(step, tolerance);
    return notable ? [{ frame, step: step.step, isViolation: false, sentence: notable }] : [];
  });
}

function violation(step: Step): string | undefined {
  const count = step.intersections ?? 0;
  const pairs = count === 1 ? "1 pair intersects or is" : `${count} pairs intersect or are`;
  if (count > 0) return `step ${step.step}: ${pairs} too close`;
  const numbers = [step.contact_error_m, step.momentum_error_m, step.max_stretch];
  if (numbers.some((value) => value !== null && !Number.isFinite(value)))
    return `step ${step.step}: a value is not finite`;
  return undefined;
}

function notableEvent(step: Step, tolerance: number): string | undefined {
  const words: string[] = [];
  if (step.failsafe) words.push("the fail-safe changed the motion");
  if (step.halvings > 0) words.push("the step was halved");
  const error = step.contact_error_m ?? 0;
  if (error > LARGE_ERROR_FACTOR * tolerance)
    words.push(
      `contact error ${error.toExponential(1)} m exceeds ` +
        `the tolerance of ${tolerance.toExponential(0)} m`,
    );
  return words.length > 0 ? `step ${step.step}: ${words.join("; ")}` : undefined;
}
