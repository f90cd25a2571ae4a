import { expect, test } from "vitest";

import { showText } from "./showText";

test("a letter that turns what follows is shown as a mark, scripts and joiners are as they are", () => {
  expect(showText("a\u202elive")).toBe("a\ufffdlive");
  expect(showText("\u2067x\u2069\u202a\u202c")).toBe("\ufffdx\ufffd\ufffd\ufffd");
  for (const text of ["غرفة ١٢", "חדר 12\u200f", "👩‍🔬 Ünïcode", "a-b"]) {
    expect(showText(text)).toBe(text);
  }
});
