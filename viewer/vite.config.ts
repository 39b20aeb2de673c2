import { defineConfig, type Plugin } from "vite";

// Bundles the page into one file, for the program and for `export --to html`.
function oneFile(): Plugin {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_, bundle) {
      const page = bundle["index.html"];
      if (page?.type !== "asset") throw new Error("the build has no index.html");
      let text = String(page.source);
      for (const [name, part] of Object.entries(bundle)) {
        if (part === page) continue;
        if (part.type === "chunk") {
          const tag = new RegExp(`<script[^>]*src="[^"]*${name}"[^>]*></script>`);
          const code = part.code.replaceAll("</script", "<\\/script");
          if (!tag.test(text)) throw new Error(`the page does not use ${name}`);
          text = text
            .replace(tag, "")
            .replace("</body>", () => `<script type="module">${code}</script>\n</body>`);
        } else {
          const tag = new RegExp(`<link[^>]*href="[^"]*${name}"[^>]*>`);
          if (!tag.test(text)) throw new Error(`the page does not use ${name}`);
          text = text.replace(tag, () => `<style>${part.source}</style>`);
        }
        delete bundle[name];
      }
      page.source = text;
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [oneFile()],
  build: {
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 1e8,
    chunkSizeWarningLimit: 2000,
  },
});
