import type { EdgeKind } from "../../picture/board";

/** What a reader calls one edge of a kind. */
export const NAMES: Readonly<Record<EdgeKind, string>> = {
  extends: "Extends",
  relationship: "Relationship",
  component: "Component",
};
