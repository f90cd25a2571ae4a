import { useCallback, useEffect, useRef, useState } from "react";

import type { Relationship } from "../api/types";
import { useNotices } from "../app/notices";
import type { Board } from "./board";
import type { Order } from "./layout/layers";
import { runLayout, type LayoutInput } from "./layout/run";
import { labelOf, modelOf, type Contents } from "./model";
import type { Painter } from "./Painter";
import type { LayoutKind, Place } from "./store";
import type { Visible } from "./visible";

const LARGE = 1500;

export interface LayoutControl {
  /** From 0 to 1 while a layout is under way, else null. */
  progress: number | null;
  start(kind: LayoutKind): void;
  stop(): void;
}

/**
 * Lays the picture out whenever it has nodes without a place, and when it is asked to. `orderOf`: who
 * stands above whom by a relationship, where there are layers.
 */
export function useLayout(
  painter: Painter | null,
  contents: Contents,
  visible: Visible,
  ready: boolean,
  board: Board,
  orderOf: (one: Relationship) => Order,
): LayoutControl {
  const [progress, setProgress] = useState<number | null>(null);
  const stopping = useRef<() => void>(() => undefined);
  const stop = useCallback(() => {
    stopping.current();
    setProgress(null);
  }, []);

  const run = useCallback(
    (kind: LayoutKind, isFixed: (id: string) => boolean) => {
      if (painter === null) return;
      stopping.current();
      const input = buildInput(painter, contents, visible, isFixed, orderOf);
      let shown = 0;
      stopping.current = runLayout(kind, input, {
        onStep: (made, done) => {
          // PERF: each step draws all anew; of a large picture few are shown, and none while one
          // moves the view.
          const pause = input.nodes.length > LARGE ? 600 : 0;
          if (done < 1 && (performance.now() - shown < pause || (pause > 0 && painter.isMoved()))) {
            setProgress(done);
            return;
          }
          shown = performance.now();
          const moved = new Map<string, Place>();
          input.nodes.forEach((id, at) => {
            const place = made[at];
            if (place !== undefined) moved.set(id, place);
          });
          // The last step of forces parts what overlaps, which is a leap.
          painter.move(moved, kind !== "force" || done >= 1);
          setProgress(done >= 1 ? null : done);
          if (done >= 1 && !input.nodes.some(isFixed)) painter.fit();
        },
        onError: (error) => {
          setProgress(null);
          useNotices.getState().sayError(error);
        },
      });
    },
    [painter, contents, visible, orderOf],
  );

  const start = useCallback(
    (kind: LayoutKind) => {
      const { pinned, setLayout } = board.getState();
      setLayout(kind);
      run(kind, (id) => pinned.has(id));
    },
    [run, board],
  );

  useEffect(() => {
    if (painter === null || !ready) return;
    const unplaced = [...visible.nodes].filter((id) => !board.places.has(id));
    if (unplaced.length === 0) return;
    const { layout: wanted, pinned: held } = board.getState();
    // Without relationships forces have nothing to work on.
    const kind = wanted === "force" && contents.edges.size === 0 ? "grid" : wanted;
    // A few that come to many leave those where they are.
    const few = unplaced.length < contents.nodes.size / 2 && kind === "force";
    const known = new Set(few ? board.places.keys() : []);
    run(kind, (id) => held.has(id) || known.has(id));
  }, [painter, contents, visible, ready, run, board]);

  useEffect(() => () => stopping.current(), [painter]);
  return { progress, start, stop };
}

function buildInput(
  painter: Painter,
  contents: Contents,
  visible: Visible,
  isFixed: (id: string) => boolean,
  orderOf: (one: Relationship) => Order,
): LayoutInput {
  const order = (id: string): string => {
    const twin = contents.nodes.get(id);
    return `${modelOf(twin)}\n${labelOf(id, twin)}`;
  };
  const keys = new Map([...visible.nodes].map((id) => [id, order(id)]));
  const nodes = [...visible.nodes]
    .filter((id) => painter.graph.hasNode(id))
    .sort((one, other) => {
      const [a, b] = [keys.get(one) ?? "", keys.get(other) ?? ""];
      return a < b ? -1 : a > b ? 1 : 0;
    });
  const groups = new Map<string, number>();
  for (const id of nodes) {
    const model = modelOf(contents.nodes.get(id));
    groups.set(model, (groups.get(model) ?? 0) + 1);
  }
  return {
    nodes,
    groups: [...groups.values()],
    places: nodes.map((id) => {
      const { x, y } = painter.graph.getNodeAttributes(id);
      return { x, y };
    }),
    pinned: nodes.map(isFixed),
    sizes: nodes.map((id) => painter.graph.getNodeAttribute(id, "size")),
    view: painter.view(),
    links: [...visible.edges].flatMap((key) => {
      const one = contents.edges.get(key);
      if (one === undefined) return [];
      const { $sourceId: source, $targetId: target, $relationshipName: name } = one;
      return [{ source, target, name, order: orderOf(one) }];
    }),
  };
}
