import { expect, test } from "vitest";

import { ApiError, readError, titleOf } from "./errors";

const read = (status: number, body: string) => readError(new Response(body, { status }));

test.each([
  [
    '{"error": "unauthorized", "error_description": "The token has expired."}',
    "The token has expired.",
  ],
  ['{"error": {"code": "BadId", "message": "No such id."}}', "No such id."],
  ['{"error": "unauthorized"}', "unauthorized"],
  ['{"title": "Bad Request", "detail": "The body is no JSON."}', "The body is no JSON."],
  ["Not here", "Not here"],
  [
    '{"error": "It cannot be made.", "details": "id is taken. sku is none.", "findings": ["a", "b"]}',
    "It cannot be made. id is taken. sku is none.",
  ],
  [
    '{"error": "id is none.", "details": "id is none.", "findings": ["id is none."]}',
    "id is none.",
  ],
])("the error of %s is told in the words for people", async (body, message) => {
  expect((await read(401, body)).message).toBe(message);
});

test("the findings of the control plane are kept one by one", async () => {
  const body = '{"error": "No.", "details": "a b", "findings": ["a", "b"]}';
  expect((await read(400, body)).details).toEqual(["a", "b"]);
});

test("what got no answer is not said to be refused", () => {
  const unknown = "No answer: it is not known whether it was done";
  expect(titleOf(new ApiError(0, "NoAnswer", "x"))).toBe(unknown);
  expect(titleOf(new ApiError(504, "", "Gateway Timeout"))).toBe(unknown);
  expect(titleOf(new ApiError(400, "", "x"))).toBe("The service has not taken it");
  expect(titleOf(new Error("x"))).toBe("The service has not taken it");
});
