import { useMemo, useRef, useState } from "react";

import type { JsonObject } from "../api/types";
import type { ContentInfo, ModelIndex } from "../models/index";
import { carryOver } from "./components";
import { isWithin, touches, writeAt } from "./document";
import type { Editing, Finding, Unread } from "./editing";
import { readFindings } from "./useSave";
import { useUnread } from "./useUnread";

const NOTHING: JsonObject = {};

/** A document that is not stored yet, for the fields of a form. */
export function useForm(first: JsonObject = NOTHING) {
  const [value, setValue] = useState(first);
  const [isWritten, setWritten] = useState(false);
  const [findings, setFindings] = useState<readonly Finding[]>([]);
  const [texts, setTexts] = useState<ReadonlyMap<string, Unread>>(new Map());
  const { unread, setUnread } = useUnread();
  const editing: Editing = useMemo(() => {
    // What was wrong with a place says nothing of what is written there since.
    const forgetFindings = (pointer: string): void =>
      setFindings((before) => before.filter(({ target }) => !touches(target, pointer)));
    return {
      value,
      stored: value,
      readOnly: false,
      findings,
      lit: undefined,
      texts,
      set: (pointer, one) => {
        setWritten(true);
        forgetFindings(pointer);
        setValue((before) => writeAt(before, pointer, one));
      },
      setText: (pointer, text) => {
        setWritten(true);
        forgetFindings(pointer);
        setTexts((before) => {
          const after = new Map(before);
          if (text === null) after.delete(pointer);
          else after.set(pointer, { text });
          return after;
        });
      },
      forgetTexts: (pointer) =>
        setTexts((before) => new Map([...before].filter(([one]) => !isWithin(one, pointer)))),
      setUnread,
    };
  }, [value, findings, texts, setUnread]);
  // What the contents of now have no place for; it is there again with those that have one.
  const shelf = useRef<JsonObject>({});
  const begin = (next: JsonObject): void => {
    setValue(next);
    setTexts(new Map());
  };
  /** Has the form be of other contents, with what was written of them so far. */
  const change = (contents: readonly ContentInfo[], empty: JsonObject, index: ModelIndex): void => {
    const all = { ...shelf.current, ...value };
    const carried = carryOver(all, contents, index);
    shelf.current = Object.fromEntries(
      Object.entries(all).filter(([name]) => !Object.hasOwn(carried, name)),
    );
    begin({ ...empty, ...carried });
  };
  const setError = (error: unknown): void => setFindings(readFindings(error));
  return { value, editing, isWritten, change, isReady: unread + texts.size === 0, begin, setError };
}
