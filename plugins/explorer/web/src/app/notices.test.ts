import { afterEach, expect, test } from "vitest";

import { closeErrors, noticeQueue, useNotices } from "./notices";

afterEach(() => {
  noticeQueue.visibleToasts.forEach(({ key }) => noticeQueue.close(key));
});

test("a notice shows letters that turn what follows as marks, and an error is told once", () => {
  const { say, sayError } = useNotices.getState();
  say("\u202eevil\u202c is saved.");
  sayError(new Error("There is no twin \u2066a\u2069."));
  sayError(new Error("There is no twin \u2066a\u2069."));
  expect(noticeQueue.visibleToasts.map((one) => one.content.text).sort()).toEqual([
    "There is no twin \ufffda\ufffd.",
    "\ufffdevil\ufffd is saved.",
  ]);
});

test("errors are closed with the view that they are of, and what was done stays", () => {
  const { say, sayError } = useNotices.getState();
  sayError(new Error("One."));
  say("Saved.");
  sayError(new Error("Two."));
  closeErrors();
  expect(noticeQueue.visibleToasts.map((one) => one.content.text)).toEqual(["Saved."]);
});
