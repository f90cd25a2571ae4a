import { useQueries } from "@tanstack/react-query";
import { ChevronRight } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import {
  Button,
  Collection,
  Tree,
  TreeItem,
  TreeItemContent,
  type Key,
} from "react-aria-components";

import { Failure } from "../app/Failure";
import { useSelection } from "../app/selection";
import { showText } from "../app/showText";
import { Waiting } from "../app/Waiting";
import { useCounts } from "../models/counts";
import { useModels } from "../models/useModels";
import { ModelIcon } from "../picture/icons";
import { useSession } from "../session/session";
import { ContainmentChoice } from "./ContainmentChoice";
import { isToldTwice } from "./containment";
import "./locations.css";
import { LEVEL, readParts } from "./read";
import { buildNodes, keyOfWay, listOpen, MORE, type Node } from "./tree";
import { useContainment, useTop, useWay } from "./useContainment";

/** What contains what, level by level as they are opened; the selection is opened and marked. */
export default function LocationTree({ onChoose }: { onChoose?: () => void }) {
  const { may } = useSession();
  const { containment, isLoading } = useContainment();
  if (!may("query/read")) {
    return <p className="locations-none muted">You may not ask this graph where things are.</p>;
  }
  return (
    <section className="locations" aria-label="Locations">
      <header className="locations-head">
        <h2>Locations</h2>
        <ContainmentChoice />
      </header>
      {isLoading ? (
        <Waiting />
      ) : containment.length === 0 ? (
        <p className="locations-none muted">
          No relationship of this graph says what contains what. If one does, choose it above.
        </p>
      ) : (
        <Levels {...(onChoose === undefined ? {} : { onChoose })} />
      )}
    </section>
  );
}

function Levels({ onChoose }: { onChoose?: () => void }) {
  const { index } = useModels();
  const counts = useCounts(index);
  const { containment } = useContainment();
  const { top, error, refetch } = useTop(counts);
  const { selected, select } = useSelection();
  const id = selected?.kind === "twin" ? selected.id : null;
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const [limits, setLimits] = useState<ReadonlyMap<string, number>>(new Map());
  const way = useWay(id);
  const current = useMemo(() => keyOfWay(top?.rows ?? [], way, id), [top, way, id]);
  const [followed, setFollowed] = useState<string | null>(null);
  // What leads to a selection is opened once; whoever closes it again finds it closed.
  if (current !== followed) {
    setFollowed(current);
    if (current !== null) setOpened((before) => new Set([...before, ...listOpen(current)]));
  }
  const [only, ...others] = top?.rows ?? [];
  const [begun, setBegun] = useState(false);
  if (!begun && only !== undefined) {
    setBegun(true);
    if (others.length === 0) setOpened((before) => new Set([...before, only.id]));
  }
  const parts = useParts(opened, limits);
  const nodes = useMemo(
    () => buildNodes(top?.rows ?? [], opened, (one) => parts.get(one)),
    [top, opened, parts],
  );
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (current === null) return;
    const row = list.current?.querySelector(`[data-key="${CSS.escape(current)}"]`);
    row?.scrollIntoView({ block: "nearest" });
  }, [current, nodes]);
  const isExact = !isToldTwice(containment);
  const dependencies = [index, opened, parts, isExact];
  if (error !== null) {
    return <Failure title="The locations cannot be read" error={error} onRetry={refetch} />;
  }
  if (top === null) return <Waiting label="Looking for the top" />;
  return (
    <Tree
      ref={list}
      aria-label="Locations"
      className="locations-tree"
      items={nodes}
      dependencies={dependencies}
      selectionMode="single"
      selectionBehavior="replace"
      selectedKeys={current === null ? [] : [current]}
      onSelectionChange={(keys) => {
        const [key] = keys === "all" ? [] : keys;
        const [at, last] = splitKey(String(key ?? ""));
        if (last === "") return;
        if (last === MORE) {
          const whole = splitKey(at)[1];
          setLimits(new Map(limits).set(whole, (limits.get(whole) ?? LEVEL) + LEVEL));
          return;
        }
        select({ kind: "twin", id: last });
        onChoose?.();
      }}
      expandedKeys={opened}
      onExpandedChange={(keys) => setOpened(new Set([...(keys as Set<Key>)].map(String)))}
      renderEmptyState={() => (
        <p className="locations-none muted">Nothing contains anything in this graph.</p>
      )}
    >
      {function render(node: Node) {
        return (
          <TreeItem
            key={node.key}
            id={node.key}
            textValue={node.row?.name ?? "More"}
            className="locations-item"
          >
            <TreeItemContent>
              {({ hasChildItems, level }) => (
                <div
                  className="locations-row"
                  data-key={node.key}
                  style={{ paddingInlineStart: (level - 1) * 14 }}
                >
                  {hasChildItems ? (
                    <Button slot="chevron" className="locations-chevron">
                      <ChevronRight size={14} aria-hidden />
                    </Button>
                  ) : (
                    <span className="locations-chevron" />
                  )}
                  {node.row === null ? (
                    <span className="muted">{node.isMore ? "Show more" : "Loading…"}</span>
                  ) : (
                    <>
                      <span
                        className="locations-icon"
                        style={{ color: index.color(node.row.model) }}
                      >
                        <ModelIcon name={index.icon(node.row.model)} />
                      </span>
                      <span
                        className="locations-name"
                        title={`${index.label(node.row.model)} ${node.row.id}`}
                      >
                        {showText(node.row.name)}
                      </span>
                      {isExact && node.row.below > 0 && (
                        <span className="locations-count">{node.row.below.toLocaleString()}</span>
                      )}
                    </>
                  )}
                </div>
              )}
            </TreeItemContent>
            <Collection items={node.children} dependencies={dependencies}>
              {render}
            </Collection>
          </TreeItem>
        );
      }}
    </Tree>
  );
}

/** What stands before the last part of a key, and that part. */
function splitKey(key: string): [string, string] {
  const at = key.lastIndexOf("\n");
  return at < 0 ? ["", key] : [key.slice(0, at), key.slice(at + 1)];
}

/** The levels that are open, as far as they are read, by the id of their whole. */
function useParts(opened: ReadonlySet<string>, limits: ReadonlyMap<string, number>) {
  const { graph, graphId } = useSession();
  const { containment } = useContainment();
  const ids = useMemo(() => [...new Set([...opened].map((key) => splitKey(key)[1]))], [opened]);
  return useQueries({
    queries: ids.map((id) => {
      const limit = limits.get(id) ?? LEVEL;
      return {
        queryKey: ["locations", graphId, "parts", containment, id, limit],
        queryFn: ({ signal }: { signal: AbortSignal }) =>
          readParts(graph, containment, id, limit, signal),
      };
    }),
    combine: (results) =>
      new Map(
        ids.flatMap((id, at) => {
          const level = results[at]?.data;
          return level === undefined ? [] : [[id, level] as const];
        }),
      ),
  });
}
