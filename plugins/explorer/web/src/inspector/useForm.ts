import { useMemo, useState } from "react";

import type { JsonObject } from "../api/types";
import { writeAt } from "./document";
import type { Editing } from "./editing";
import { readFindings } from "./useSave";
import { useUnread } from "./useUnread";

const NOTHING: JsonObject = {};

/** A document that is not stored yet, for the fields of a form. */
export function useForm(first: JsonObject = NOTHING) {
  const [value, setValue] = useState(first);
  const [error, setError] = useState<unknown>(null);
  const { unread, setUnread } = useUnread();
  const editing: Editing = useMemo(
    () => ({
      value,
      stored: value,
      readOnly: false,
      findings: readFindings(error),
      lit: undefined,
      set: (pointer, one) => setValue((before) => writeAt(before, pointer, one)),
      setUnread,
    }),
    [value, error, setUnread],
  );
  return { value, editing, isReady: unread === 0, begin: setValue, setError };
}
