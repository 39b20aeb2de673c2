// Pages of other origins in the same browser cannot read a run.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test as base } from "./support/test";

// Another server on the same machine: a page on 127.0.0.1 is same-site, one on localhost is
// cross-site.
const test = base.extend<{ otherOrigin: (name: string) => string }>({
  otherOrigin: async ({}, use) => {
    const server: Server = createServer((_, answer) => {
      answer.setHeader("Content-Type", "text/html");
      answer.end("<!doctype html><link rel=icon href='data:,'><title>other origin</title>");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    await use((name) => `http://${name}:${(server.address() as AddressInfo).port}/`);
    server.closeAllConnections();
    server.close();
  },
});

for (const name of ["127.0.0.1", "localhost"]) {
  test(`a page of ${name} on another port can neither fetch a run nor embed its page`, async ({
    page,
    serve,
    otherOrigin,
    runs,
    consoleErrors,
  }) => {
    consoleErrors.allow(/403|CORS|ERR_FAILED|ERR_BLOCKED|frame-ancestors|chrome-error/);
    const address = await serve(runs.flag);
    const codes = new Map<string, number>();
    page.on("response", (response) => codes.set(response.url(), response.status()));
    await page.goto(otherOrigin(name));
    for (const path of [
      "runs.json",
      "runs/0/manifest.json",
      "runs/0/run.jsonl",
      "runs/0/frames/0.safetensors",
    ]) {
      const got = await page.evaluate(async (url) => {
        const open = await fetch(url).then(
          (answer) => `answered ${answer.status}`,
          () => "failed",
        );
        const blind = await fetch(url, { mode: "no-cors" }).then(
          async (answer) => `${answer.type} ${(await answer.text()).length}`,
          () => "failed",
        );
        return [open, blind];
      }, address + path);
      expect(got[0], path).toBe("failed");
      expect(["failed", "opaque 0"], path).toContain(got[1]);
      // The server refuses, not only the browser.
      if (codes.has(address + path)) expect(codes.get(address + path)).toBe(403);
    }
    await page.evaluate((url) => {
      const frame = document.createElement("iframe");
      frame.src = url;
      document.body.append(frame);
      return new Promise((resolve) => (frame.onload = frame.onerror = resolve));
    }, address);
    expect(codes.get(address) ?? 403).toBe(403);
    for (const frame of page.frames()) expect(await frame.locator("#app").count()).toBe(0);
  });
}

test("a run as an image or a script of another origin is refused", async ({
  page,
  serve,
  otherOrigin,
  runs,
  consoleErrors,
}) => {
  consoleErrors.allow(/403|ERR_BLOCKED|ERR_FAILED/);
  const address = await serve(runs.flag);
  await page.goto(otherOrigin("127.0.0.1"));
  const ends = await page.evaluate(async (url) => {
    const load = (element: HTMLScriptElement | HTMLImageElement) =>
      new Promise<string>((resolve) => {
        element.onload = () => resolve("loaded");
        element.onerror = () => resolve("refused");
        element.src = `${url}runs/0/manifest.json`;
        document.body.append(element);
      });
    return [
      await load(document.createElement("script")),
      await load(document.createElement("img")),
    ];
  }, address);
  expect(ends).toEqual(["refused", "refused"]);
});

test("a link of another origin opens the page", async ({
  viewer,
  page,
  serve,
  otherOrigin,
  runs,
}) => {
  const address = await serve(runs.flag);
  await page.goto(otherOrigin("localhost"));
  await page.evaluate((url) => {
    const link = document.createElement("a");
    link.href = url;
    link.textContent = "look";
    document.body.append(link);
  }, address);
  await page.getByText("look").click();
  await expect(viewer.id("state")).toHaveText("finished: 24 frames");
});
