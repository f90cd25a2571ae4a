import { createContext, useContext } from "react";

import type { Json, JsonObject } from "../api/types";

/** What the service said is wrong, at a JSON pointer within the document. */
export interface Finding {
  target: string;
  message: string;
}

/** What is written at a place and is no value of it yet. */
export interface Unread {
  text: string;
}

/** What the fields of one document share. */
export interface Editing {
  /** The document as it shall be. */
  value: JsonObject;
  /** As it is stored. */
  stored: JsonObject;
  readOnly: boolean;
  findings: readonly Finding[];
  /** The pointers that have just changed; an empty set is all of them. */
  lit: ReadonlySet<string> | undefined;
  /** What is written and is no value yet, by pointers; the whole as JSON at the empty one. */
  texts: ReadonlyMap<string, Unread>;
  /** Puts a value at a pointer; undefined takes it away. */
  set(pointer: string, value: Json | undefined): void;
  /** Keeps a text that is no value yet, also while it is not on the screen; null forgets it. */
  setText(pointer: string, text: string | null): void;
  /** Forgets what is written at a pointer and below it. */
  forgetTexts(pointer: string): void;
  /** Says that the value at a pointer is none of its schema; false that it is one. */
  setUnread(pointer: string, unread: boolean): void;
}

export const EditingContext = createContext<Editing | null>(null);

/** The document that is edited; only below its provider. */
export function useEditing(): Editing {
  const editing = useContext(EditingContext);
  if (editing === null) throw new Error("useEditing is used outside of an editor");
  return editing;
}
