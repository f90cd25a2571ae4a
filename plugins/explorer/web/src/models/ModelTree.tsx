import { ChevronRight } from "lucide-react";
import { useEffect, useEffectEvent, useMemo, useRef, useState } from "react";
import {
  Button,
  Collection,
  ListLayout,
  Tree,
  TreeItem,
  TreeItemContent,
  Virtualizer,
  type Key,
} from "react-aria-components";

import { showText } from "../app/showText";
import { ModelIcon } from "../picture/icons";
import type { Counts } from "./counts";
import type { ModelIndex } from "./index";
import { withAncestors } from "./search";
import {
  aboveOf,
  buildPlaces,
  findPlace,
  listRows,
  modelAt,
  openAtFirst,
  type Place,
} from "./tree";

interface Props {
  index: ModelIndex;
  counts: Counts | null;
  /** The models that the search found; null shows all. */
  found: ReadonlySet<string> | null;
  current: string | null;
  onChoose: (id: string) => void;
}

const LAYOUT = { rowHeight: 30 };

/** The interfaces below those that they extend. */
export function ModelTree({ index, counts, found, current, onChoose }: Props) {
  const shown = useMemo(
    () => (found === null ? null : withAncestors(index, found)),
    [index, found],
  );
  const first = useMemo(() => openAtFirst(index, found, shown), [index, found, shown]);
  // What was opened and closed while nothing was sought, and of the search that is shown.
  const [opened, setOpened] = useState<ReadonlySet<Key>>();
  const [inSearch, setInSearch] = useState<{ found: Props["found"]; opened: ReadonlySet<Key> }>();
  const place = usePlace(index, current);
  const expanded = useMemo(() => {
    if (found !== null) return inSearch?.found === found ? inSearch.opened : first;
    return new Set<Key>([...(opened ?? first), ...aboveOf(place.key)]);
  }, [found, inSearch, opened, first, place.key]);
  const places = useMemo(() => buildPlaces(index, expanded, shown), [index, expanded, shown]);
  const list = useRef<HTMLDivElement>(null);
  const show = useEffectEvent(() => {
    const row = place.key === null ? -1 : listRows(places, expanded).indexOf(place.key);
    if (row >= 0 && list.current !== null) scrollTo(list.current, row * LAYOUT.rowHeight);
  });
  // What a link, the graph or another model led to; what was chosen here is in sight already.
  const seeking = found !== null;
  useEffect(() => {
    // A frame later: the rows have no height before the list knows its own.
    const frame = requestAnimationFrame(() => show());
    return () => cancelAnimationFrame(frame);
  }, [place.key, seeking]);
  // What an item shows beside itself: without these it would stay as it was drawn first.
  const dependencies = [index, counts, found, expanded];
  return (
    <Virtualizer layout={ListLayout} layoutOptions={LAYOUT}>
      <Tree
        ref={list}
        aria-label="Models by inheritance"
        className="models-tree"
        items={places}
        dependencies={dependencies}
        selectionMode="single"
        selectionBehavior="replace"
        selectedKeys={place.key === null ? [] : [place.key]}
        onSelectionChange={(keys) => {
          const [key] = keys === "all" ? [] : keys;
          if (key === undefined) return;
          place.choose(String(key));
          onChoose(modelAt(String(key)));
        }}
        expandedKeys={expanded}
        onExpandedChange={(keys) => {
          if (found === null) setOpened(keys);
          else setInSearch({ found, opened: keys });
        }}
        renderEmptyState={() => <p className="models-none muted">No model is like this.</p>}
      >
        {function render(node: Place) {
          return (
            <TreeItem
              key={node.key}
              id={node.key}
              textValue={index.label(node.id)}
              className="models-item"
            >
              <TreeItemContent>
                {({ hasChildItems, level }) => (
                  <div className="models-row" style={{ paddingInlineStart: (level - 1) * 16 }}>
                    {hasChildItems ? (
                      <Button slot="chevron" className="models-chevron">
                        <ChevronRight size={14} aria-hidden />
                      </Button>
                    ) : (
                      <span className="models-chevron" />
                    )}
                    <span className="models-icon" style={{ color: index.color(node.id) }}>
                      <ModelIcon name={index.icon(node.id)} />
                    </span>
                    <span
                      className={
                        found === null || found.has(node.id) ? "models-name" : "models-name muted"
                      }
                    >
                      {showText(index.label(node.id))}
                    </span>
                    {index.interfaces.get(node.id)?.decommissioned && (
                      <span className="models-tag">decommissioned</span>
                    )}
                    {counts !== null && <Count counts={counts} id={node.id} />}
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
    </Virtualizer>
  );
}

/** Bring a row into the middle, where it is not in sight. */
function scrollTo(list: HTMLElement, top: number): void {
  const { scrollTop, clientHeight } = list;
  const isSeen = top >= scrollTop && top + LAYOUT.rowHeight <= scrollTop + clientHeight;
  if (!isSeen) list.scrollTop = top - clientHeight / 2;
}

/** Where the model that is looked at is marked: at the place where it was chosen, if there. */
function usePlace(index: ModelIndex, current: string | null) {
  const [chosen, choose] = useState("");
  const key = useMemo(() => {
    if (current === null) return null;
    return modelAt(chosen) === current ? chosen : findPlace(index, current);
  }, [index, current, chosen]);
  return { key, choose };
}

function Count({ counts, id }: { counts: Counts; id: string }) {
  const own = counts.own(id);
  const family = counts.family(id);
  const told = own === family ? `${own} twins` : `${own} twins, ${family} with those of its heirs`;
  return (
    <span className={family === 0 ? "models-count models-count-none" : "models-count"} title={told}>
      {family.toLocaleString()}
    </span>
  );
}
