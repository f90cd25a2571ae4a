import { useMemo, useState } from "react";

import type { JsonObject } from "../api/types";
import { isWithin, writeAt } from "./document";
import type { Editing, Unread } from "./editing";
import { readFindings } from "./useSave";
import { useUnread } from "./useUnread";

const NOTHING: JsonObject = {};

/** A document that is not stored yet, for the fields of a form. */
export function useForm(first: JsonObject = NOTHING) {
  const [value, setValue] = useState(first);
  const [error, setError] = useState<unknown>(null);
  const [texts, setTexts] = useState<ReadonlyMap<string, Unread>>(new Map());
  const { unread, setUnread } = useUnread();
  const editing: Editing = useMemo(
    () => ({
      value,
      stored: value,
      readOnly: false,
      findings: readFindings(error),
      lit: undefined,
      texts,
      set: (pointer, one) => setValue((before) => writeAt(before, pointer, one)),
      setText: (pointer, text) =>
        setTexts((before) => {
          const after = new Map(before);
          if (text === null) after.delete(pointer);
          else after.set(pointer, { text });
          return after;
        }),
      forgetTexts: (pointer) =>
        setTexts((before) => new Map([...before].filter(([one]) => !isWithin(one, pointer)))),
      setUnread,
    }),
    [value, error, texts, setUnread],
  );
  const begin = (next: JsonObject): void => {
    setValue(next);
    setTexts(new Map());
  };
  return { value, editing, isReady: unread + texts.size === 0, begin, setError };
}
