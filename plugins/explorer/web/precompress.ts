import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";

import type { Plugin, Rolldown } from "vite";

const SMALLEST = 1024; // bytes: below it a coding saves no packet
// Bytes of scripts and styles as gzip: what the first view loads, and all of the page. Of the latter
// 450 kB are the map (MapLibre and its worker) and 200 kB the scenes (three.js), which nobody loads
// who does not open them.
const BUDGETS = { "first view": 600_000, "whole page": 1_600_000 };
/** What the first view loads beside the shell: the view that `/explorer/` leads to. */
const FIRST = /\/(?:query\/QueryView|inspector\/Inspector)\.tsx$/;
const TEXT = /\.(js|css|json|svg|txt)$/;

/**
 * Writes `x.br` and `x.gz` beside each text `x` of a build: the service sends them as they are and
 * compresses nothing itself. A page that has grown over its budget is no build.
 */
export function precompress(): Plugin {
  return {
    name: "precompress",
    apply: "build",
    async writeBundle({ dir }, bundle) {
      if (dir === undefined)
        throw new Error("A build without a directory has no files to compress");
      const names = Object.keys(bundle).filter((name) => TEXT.test(name));
      const sizes = await Promise.all(names.map((name) => compress(join(dir, name))));
      const first = listFirst(bundle);
      const sum = (counts: (name: string) => boolean): number =>
        sizes.reduce((total, size, at) => (counts(names[at] ?? "") ? total + size : total), 0);
      hold(
        "first view",
        sum((name) => first.has(name)),
      );
      hold(
        "whole page",
        sum(() => true),
      );
    },
  };
}

/** The files that the first view loads: its chunks, those they import, and their styles. */
function listFirst(bundle: Rolldown.OutputBundle): ReadonlySet<string> {
  const found = new Set<string>();
  const add = (name: string): void => {
    const chunk = bundle[name];
    if (found.has(name) || chunk?.type !== "chunk") return;
    found.add(name);
    chunk.viteMetadata?.importedCss.forEach((style) => found.add(style));
    chunk.imports.forEach(add);
  };
  for (const chunk of Object.values(bundle)) {
    if (chunk.type !== "chunk") continue;
    if (chunk.isEntry || FIRST.test(chunk.facadeModuleId ?? "")) add(chunk.fileName);
  }
  return found;
}

function hold(what: keyof typeof BUDGETS, size: number): void {
  const most = BUDGETS[what];
  if (size <= most) return;
  throw new Error(`The ${what} has ${String(size)} bytes (gzip); at most ${String(most)} may be.`);
}

/** Writes the compressed forms of a file; how many bytes it takes as gzip. */
async function compress(path: string): Promise<number> {
  const body = await readFile(path);
  if (body.length < SMALLEST) return body.length;
  const [squeezed, zipped] = await Promise.all([
    promisify(brotliCompress)(body), // at quality 11, zlib's own choice
    promisify(gzip)(body, { level: 9 }),
  ]);
  await Promise.all([writeFile(`${path}.br`, squeezed), writeFile(`${path}.gz`, zipped)]);
  return zipped.length;
}
