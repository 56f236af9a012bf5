import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/**
 * Puts early/early.js in front of all other scripts of index.html: a classic script, so that a browser
 * without modules runs it, and a file of its own with a hash, because the content policy allows no
 * inline script.
 */
function earlyScript(): Plugin {
  let name = "early/early.js";
  let isBuild = false;
  return {
    name: "early-script",
    config(_config, { command }) {
      isBuild = command === "build";
    },
    buildStart() {
      if (!isBuild) return;
      const source = readFileSync(file("early/early.js"), "utf8");
      this.emitFile({ type: "asset", name: "early.js", source });
    },
    transformIndexHtml: {
      order: "post",
      handler(_html, context) {
        for (const output of Object.values(context.bundle ?? {})) {
          if (output.type === "asset" && output.names.includes("early.js")) name = output.fileName;
        }
        return [{ tag: "script", attrs: { src: `/${name}` }, injectTo: "head-prepend" }];
      },
    },
  };
}

export default defineConfig({
  plugins: [earlyScript()],
  resolve: { alias: { "@": file("src") } },
  build: {
    outDir: "../src/farebox/console_build",
    emptyOutDir: true,
    assetsInlineLimit: 0, // the content policy allows no data: image
    modulePreload: { polyfill: false },
    sourcemap: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: "react", test: /node_modules.(react|react-dom|scheduler)./ },
            { name: "tanstack", test: /node_modules.@tanstack.(?!\w+-virtual)/ },
          ],
        },
      },
      onwarn(warning, report) {
        // React's "use client" says nothing here: the console has no server part.
        if (warning.code !== "MODULE_LEVEL_DIRECTIVE") report(warning);
      },
    },
  },
  server: { proxy: { "^/(v1|discovery|mcp|gateway|health|supported)": "http://127.0.0.1:8402" } },
  test: { environment: "happy-dom", include: ["src/**/*.test.{ts,tsx}"], testTimeout: 30_000 },
});
