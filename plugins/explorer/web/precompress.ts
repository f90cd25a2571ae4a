import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";

import type { Plugin } from "vite";

const SMALLEST = 1024; // bytes: below it a coding saves no packet
const BUDGET = 600_000; // bytes of all scripts and styles together, as gzip
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
      const total = sizes.reduce((sum, size) => sum + size, 0);
      if (total > BUDGET) {
        throw new Error(
          `The page has ${String(total)} bytes (gzip); at most ${String(BUDGET)} may be.`,
        );
      }
    },
  };
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
