import { useQuery } from "@tanstack/react-query";
import { createContext, useContext, useEffect, useState, type ReactNode } from "react";

import type { Json, JsonObject } from "../api/types";
import { readCalled, type Called } from "../locations/read";
import { useContainment } from "../locations/useContainment";
import { useSession } from "../session/session";
import { isRelationship, isTwin } from "./documents";

const NONE: ReadonlyMap<string, Called> = new Map();
const CalledContext = createContext(NONE);

/** Rows that pass by while one scrolls are not asked for, in milliseconds. */
const PAUSE = 250;
/** So many twins are asked for at once; what is in sight has rarely more. */
const MOST = 300;

/** The ids of the twins and of the ends of relationships that are values of these rows. */
export function listShown(rows: readonly JsonObject[]): string[] {
  const found = new Set<string>();
  const take = (value: Json | undefined): void => {
    if (isTwin(value)) found.add(value.$dtId);
    else if (isRelationship(value)) found.add(value.$sourceId).add(value.$targetId);
  };
  for (const row of rows) {
    take(row);
    for (const value of Object.values(row)) take(value);
  }
  return [...found];
}

/** Gives the cells of the rows in sight what twins are called that they know by id alone, and where they are. */
export function CalledOf({ rows, children }: { rows: readonly JsonObject[]; children: ReactNode }) {
  const shown = useSettled(listShown(rows).join("\n"));
  const called = useCalledTwins(shown === "" ? [] : shown.split("\n"));
  return <CalledContext value={called}>{children}</CalledContext>;
}

/** What the first of these twins are called and where they are, by id, as far as that is known. */
export function useCalledTwins(ids: readonly string[]): ReadonlyMap<string, Called> {
  const { graph, graphId, may } = useSession();
  const { containment, isLoading } = useContainment();
  const asked = ids.slice(0, MOST);
  const { data = NONE } = useQuery({
    queryKey: ["locations", graphId, "called", containment, asked],
    queryFn: ({ signal }) => readCalled(graph, containment, asked, signal),
    enabled: asked.length > 0 && !isLoading && may("query/read"),
    placeholderData: (before) => before,
    // Names and places are an addition: without them the ids say which twins there are.
    retry: false,
  });
  return data;
}

/** What a twin is called and where it is, once that is known. */
export function useCalled(id: string): Called | undefined {
  return useContext(CalledContext).get(id);
}

/** A text once it has stayed the same for a while. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
