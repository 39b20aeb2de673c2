// Exported pages, and rendered images.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { brief } from "../src/elements";
import { logOf } from "./support/files";
import { Picture } from "./support/png";
import { expectSuccess, reefknot } from "./support/program";
import { expect, test } from "./support/test";

for (const scene of ["drape", "knot"] as const) {
  test(`an exported page of ${scene} equals the served page, without any request`, async ({
    viewer,
    serve,
    runs,
  }) => {
    const file = join(runs.folder, `${scene}.html`);
    await expectSuccess("export", runs[scene], "--to", "html", "--out", file);
    const address = await serve(runs[scene]);
    await viewer.open(address);
    const look = `?camera=${(await viewer.camera()).map((x) => x.toPrecision(5)).join(",")}`;
    await viewer.open(address + look);
    await viewer.scrub(6);
    const served = await viewer.picture();
    const state = (await viewer.id("state").textContent())!;

    const requests: string[] = [];
    viewer.page.on("request", (request) => requests.push(request.url()));
    await viewer.open(pathToFileURL(file).href + look);
    await viewer.scrub(6);
    const exported = await viewer.picture();
    expect(exported.differences(served, 2)).toBeLessThan(20);
    await expect(viewer.id("state")).toHaveText(state);
    await expect(viewer.value("contacts", "contacts")).toHaveText(
      brief(logOf(runs[scene])[6 * (scene === "drape" ? 2 : 8) - 1]!["contacts"]),
    );
    await viewer.scrub(8);
    expect((await viewer.picture()).differences(exported, 10)).toBeGreaterThan(200);
    await viewer.scrub(6);
    expect((await viewer.picture()).differences(exported)).toBe(0);
    expect(requests.filter((url) => !/^(data|blob):/.test(url))).toEqual([
      pathToFileURL(file).href + look,
    ]);
  });
}

test("an exported page starts with the given look", async ({ viewer, runs }) => {
  const file = join(runs.folder, "look.html");
  await expectSuccess(
    "export",
    runs.drape,
    "--to",
    "html",
    "--out",
    file,
    "--look",
    "colour=speed&frame=14&hide=ground",
  );
  await viewer.open(pathToFileURL(file).href);
  await viewer.isShown(14);
  await expect(viewer.legend).toContainText("speed");
  await expect(viewer.object("ground").getByRole("checkbox")).not.toBeChecked();
  // The page contains neither path nor command.
  expect(readFileSync(file, "utf8")).not.toContain(runs.folder);
});

function pictures(folder: string): Picture[] {
  return readdirSync(folder)
    .sort()
    .map((name) => Picture.decode(readFileSync(join(folder, name))));
}

test("render writes the requested frames in the requested size", async ({ runs }) => {
  const folder = join(runs.folder, "pictures");
  const ended = await expectSuccess(
    "render",
    runs.drape,
    "--frames",
    "12..14",
    "--png",
    folder,
    "--size",
    "320x240",
  );
  expect(ended.stdout).toContain("3 images");
  expect(readdirSync(folder).sort()).toEqual(["00012.png", "00013.png", "00014.png"]);
  const [first, second, third] = pictures(folder) as [Picture, Picture, Picture];
  for (const picture of [first, second, third]) {
    expect([picture.width, picture.height]).toEqual([320, 240]);
    expect(picture.colours).toBeGreaterThan(50);
    expect(picture.drawn).toBeGreaterThan(2000);
  }
  expect(second.differences(first, 4)).toBeGreaterThan(100);
  expect(third.differences(second, 4)).toBeGreaterThan(100);

  const coloured = join(runs.folder, "coloured");
  await expectSuccess(
    "render",
    runs.drape,
    "--frames",
    "12..12",
    "--png",
    coloured,
    "--size",
    "320x240",
    "--look",
    "colour=speed",
  );
  expect(pictures(coloured)[0]!.differences(first, 20)).toBeGreaterThan(1000);
});

test("an unknown setting of a look is refused with its name", async ({ runs }) => {
  for (const [look, word] of [
    ["colour=speed&sparkle=1", "sparkle"],
    ["colour=plaid", "plaid"],
  ] as const) {
    const ended = await reefknot(
      "render",
      runs.flag,
      "--frames",
      "0..0",
      "--png",
      join(runs.folder, "refused"),
      "--size",
      "64x64",
      "--look",
      look,
    );
    expect(ended.code, ended.stderr).toBe(1);
    expect(ended.stderr).toContain(word);
    expect(ended.stderr).toContain("--look");
  }
});
