import { create } from "zustand";

import type { JsonObject } from "../api/types";

/** A form for something new. */
export type NewThing =
  | { kind: "twin"; model?: string; contents?: JsonObject }
  | { kind: "relationship"; sourceId: string };

/** The form that is open. It is none of what opened it, which may go while somebody writes. */
export const useForms = create<{ open: NewThing | null }>(() => ({ open: null }));

export function openForm(open: NewThing): void {
  useForms.setState({ open });
}

export function closeForm(): void {
  useForms.setState({ open: null });
}
