import { ChevronRight } from "lucide-react";
import { useMemo, useState } from "react";
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

import type { Counts } from "./counts";
import type { ModelIndex } from "./index";
import { withAncestors } from "./search";

/** A place in the tree: an interface of several bases stands at several places. */
interface Node {
  /** The DTMIs from the root to here. */
  key: string;
  id: string;
  children: Node[];
}

interface Props {
  index: ModelIndex;
  counts: Counts | null;
  /** The models that the search found; null shows all. */
  found: ReadonlySet<string> | null;
  current: string | null;
  onChoose: (id: string) => void;
}

const LAYOUT = { rowHeight: 30 };
const BETWEEN = " ";

/** The interfaces below those that they extend. */
export function ModelTree({ index, counts, found, current, onChoose }: Props) {
  const shown = useMemo(
    () => (found === null ? null : withAncestors(index, found)),
    [index, found],
  );
  const nodes = useMemo(() => buildNodes(index, index.roots(), "", shown), [index, shown]);
  const [opened, setOpened] = useState<Set<Key>>();
  const all = useMemo(() => new Set<Key>(keysOf(nodes)), [nodes]);
  // A search opens all it found; else the first levels of a small set are open.
  const byDefault = index.interfaces.size <= 60 ? all : new Set<Key>(nodes.map((one) => one.key));
  const place = useMemo(() => findPlace(nodes, current), [nodes, current]);
  // What an item shows beside itself: without these it would stay as it was drawn first.
  const dependencies = [index, counts, found];
  const expanded = found === null ? new Set([...(opened ?? byDefault), ...aboveOf(place)]) : all;
  return (
    <Virtualizer layout={ListLayout} layoutOptions={LAYOUT}>
      <Tree
        aria-label="Models by inheritance"
        className="models-tree"
        items={nodes}
        dependencies={dependencies}
        selectionMode="single"
        selectionBehavior="replace"
        selectedKeys={place === null ? [] : [place]}
        onSelectionChange={(keys) => {
          const [key] = keys === "all" ? [] : keys;
          if (key !== undefined) onChoose(String(key).split(BETWEEN).at(-1) ?? "");
        }}
        expandedKeys={expanded}
        onExpandedChange={setOpened}
        renderEmptyState={() => <p className="models-none muted">No model is like this.</p>}
      >
        {function render(node: Node) {
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
                    <span className="models-dot" style={{ background: index.color(node.id) }} />
                    <span
                      className={
                        found === null || found.has(node.id) ? "models-name" : "models-name muted"
                      }
                    >
                      {index.label(node.id)}
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

export function buildNodes(
  index: ModelIndex,
  ids: readonly string[],
  above: string,
  shown: ReadonlySet<string> | null,
): Node[] {
  const path = above.split(BETWEEN);
  return ids
    .filter((id) => (shown === null || shown.has(id)) && !path.includes(id))
    .map((id) => {
      const key = above === "" ? id : above + BETWEEN + id;
      return { key, id, children: buildNodes(index, index.heirs(id), key, shown) };
    });
}

function keysOf(nodes: readonly Node[]): string[] {
  return nodes.flatMap((one) => [one.key, ...keysOf(one.children)]);
}

/** The first place of a model. */
function findPlace(nodes: readonly Node[], id: string | null): string | null {
  for (const one of nodes) {
    const found = one.id === id ? one.key : findPlace(one.children, id);
    if (found !== null) return found;
  }
  return null;
}

function aboveOf(place: string | null): string[] {
  const parts = place?.split(BETWEEN) ?? [];
  return parts.slice(1).map((_one, at) => parts.slice(0, at + 1).join(BETWEEN));
}
