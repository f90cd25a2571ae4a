import { readFileSync } from "node:fs";

import { expect, test } from "vitest";

import { symbolOf } from "./units";

/** The names in the tables of units by which the service checks models. */
function readNames(): string[] {
  const source = readFileSync(
    new URL("../../../../../src/twinframe/dtdl/rules/quantities.py", import.meta.url),
    "utf8",
  );
  const tables = [...source.matchAll(/^_UNITS\w*: dict\[str, str\] = \{$([^]*?)^\}$/gm)];
  const texts = tables.flatMap(([, table = ""]) => [...table.matchAll(/"([^"]*)"(:?)/g)]);
  return texts
    .flatMap(([, text = "", isKey]) => (isKey === ":" ? [] : text.split(" ")))
    .filter((one) => /^\w+$/.test(one));
}

test("every unit that the service knows has a symbol", () => {
  const names = readNames();
  expect(names.length).toBeGreaterThan(190);
  const sizes = ["kibibyte", "bitPerSecond", "yobibytePerSecond"];
  const plain = [...names, ...sizes].filter((one) => !["bar", "slug"].includes(one));
  expect(plain.filter((one) => symbolOf(one) === one && one !== "bit")).toEqual([]);
});

test("a symbol is what stands behind a number, and a unit of one's own its name", () => {
  expect(symbolOf("degreeCelsius")).toBe("°C");
  expect(symbolOf("partsPerMillion")).toBe("ppm");
  expect(symbolOf("kibibytePerSecond")).toBe("KiB/s");
  expect(symbolOf("unity")).toBe("");
  expect(symbolOf("desksPerFloor")).toBe("desksPerFloor");
  expect(symbolOf("constructor")).toBe("constructor");
  expect(symbolOf("°C")).toBe("°C");
});
