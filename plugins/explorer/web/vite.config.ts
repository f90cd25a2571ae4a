import optimizeLocales from "@react-aria/optimize-locales-plugin";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

import { precompress } from "./precompress.ts";

// Assets are named relative to the page: the server decides where the page stands (<base href>).
export default defineConfig({
  base: "./",
  plugins: [
    // PERF: the widgets know thirty languages; the texts of the page are English. enforce: before
    // the bundler's own resolution, which would find the strings.
    { ...optimizeLocales.vite({ locales: ["en-US"] }), enforce: "pre" },
    react(),
    precompress(),
  ],
  build: {
    outDir: "../src/twinframe_explorer/assets",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    sourcemap: false,
    target: "es2022",
    // What is built for this target knows how to fetch modules beforehand.
    modulePreload: { polyfill: false },
    rolldownOptions: {
      // Reading a property does nothing else, in what the page is made of.
      treeshake: { propertyReadSideEffects: false, unknownGlobalSideEffects: false },
      output: {
        codeSplitting: {
          // PERF: as dozens of files of a few kB each they took 10 kB more, and a request each.
          groups: [
            {
              name: "widgets",
              test: /react-aria|react-stately|@internationalized|lucide-react|jsx-runtime/,
              minShareCount: 2,
            },
            {
              name: "shared",
              test: /web\/src\/(app|api|session|live|results|control\/Choice|models\/(schemaText|index|interfaces|colors|useModels)|picture\/(store|style|address|styleStore|model|pins|ask|fill)|query\/(share|storage|tokens)|inspector\/useMayFind)|react-query|lossless/,
              minShareCount: 2,
            },
          ],
        },
      },
    },
  },
  worker: { format: "es" },
  server: {
    // `npm run dev` beside a service on its usual port.
    proxy: Object.fromEntries(
      [
        "/api",
        "/graphs",
        "/digitaltwins",
        "/models",
        "/query",
        "/events",
        "/permissions",
        "/.well-known",
        "/explorer/configuration.json",
        "/explorer/language.json",
      ].map((path) => [path, process.env["TWINFRAME_SERVICE"] ?? "http://127.0.0.1:8080"]),
    ),
  },
  // Some try thousands of cases, beside other checks on the same cores.
  test: { include: ["src/**/*.test.{ts,tsx}"], environment: "node", testTimeout: 60_000 },
});
