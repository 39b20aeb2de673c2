// Two runs side by side.

import { join } from "node:path";
import { brief } from "../src/elements";
import { logOf, manifestOf } from "./support/files";
import { expectSuccess } from "./support/program";
import { expect, test } from "./support/test";

test("two runs have two panes, two labels and two values in each plot", async ({
  viewer,
  serve,
  runs,
}) => {
  const other = join(runs.folder, "slippery");
  await expectSuccess(
    "run",
    "drape",
    "--quick",
    "--set",
    "parameters.n=14",
    "--set",
    "parameters.mu=0",
    "--quiet",
    "--out",
    other,
  );
  await viewer.open(await serve(runs.drape, other), 2);
  await expect(viewer.id("labels").locator("span")).toHaveText([runs.drape, other]);
  await expect(viewer.id("state")).toHaveText("finished: 50 frames | finished: 50 frames");
  await viewer.scrub(2, [2, 2]);
  const early = await viewer.picture();
  await viewer.scrub(50, [50, 50]);
  const late = await viewer.picture();
  for (const [from, to] of [
    [0, 0.49],
    [0.51, 1],
  ] as const) {
    expect(
      late.columns(from, to).differences(early.columns(from, to), 10),
      `from ${from} to ${to}`,
    ).toBeGreaterThan(1000);
  }
  // The runs differ in friction only, so they differ after the fall.
  const apart = (picture: typeof late) =>
    picture.columns(0, 0.48).differences(picture.columns(0.5, 0.98), 20);
  expect(apart(late)).toBeGreaterThan(apart(early));

  for (const [run, path] of [runs.drape, other].entries()) {
    const step = logOf(path)[50 * manifestOf(path).steps_per_frame - 1]!;
    await expect(viewer.value("contacts", "contacts", run)).toHaveText(brief(step["contacts"]));
    await expect(viewer.value("energy (J)", "kinetic", run)).toHaveText(
      brief(step.energy_j["kinetic"]),
    );
    await expect(viewer.value("accumulated energy flow (J)", "contact", run)).toHaveText(
      brief(logOf(path).reduce((sum, each) => sum + each.energy_j["contact"]!, 0)),
    );
  }
});

test("runs of different frame rates and lengths are synchronised in time", async ({
  viewer,
  serve,
  runs,
}) => {
  // 50 frames a second for one second, and 24 a second.
  await viewer.open(await serve(runs.drape, runs.flag), 2);
  await expect(viewer.page).toHaveTitle("drape and flag – reefknot");
  await viewer.scrub(25, [25, 12]);
  await viewer.scrub(50, [50, 24]);
  const steps = logOf(runs.flag);
  await expect(viewer.value("energy (J)", "kinetic", 1)).toHaveText(
    brief(steps.at(-1)!.energy_j["kinetic"]),
  );
  // A probe of one run has no value for the other.
  await expect(viewer.value("pull (N)", "x", 0)).toHaveText("–");
  await expect(viewer.value("pull (N)", "x", 1)).not.toHaveText("–");
});

// Regression: plots for one run got the values of two.
test("a second run that starts later appears in image and plots", async ({
  viewer,
  serve,
  runs,
}) => {
  let polls = 0;
  await viewer.page.route("**/runs/1/status.json", async (route) => {
    if (polls++ > 0) return route.continue();
    return route.fulfill({
      json: { state: "empty", message: "the run is starting", frames: [], identity: "" },
    });
  });
  await viewer.open(await serve(runs.drape, runs.copy(runs.drape)), 1);
  await expect(viewer.value("contacts", "contacts", 1)).toHaveCount(0);
  await expect(viewer.value("contacts", "contacts", 1)).toHaveCount(1);
  await viewer.scrub(30, [30, 30]);
  const contacts = brief(
    logOf(runs.drape)[30 * manifestOf(runs.drape).steps_per_frame - 1]!["contacts"],
  );
  for (const run of [0, 1])
    await expect(viewer.value("contacts", "contacts", run)).toHaveText(contacts);
});
