import { useMemo, type MouseEvent } from "react";
import {
  Cell,
  Column,
  Row,
  Table,
  TableBody,
  TableHeader,
  TableLayout,
  Virtualizer,
} from "react-aria-components";

import type { ModelIndex } from "../models/index";
import { edgeKey, labelOf, listNeighbours, modelOf, type Contents } from "./model";
import { usePicture } from "./store";
import type { Visible } from "./visible";

const LAYOUT = { rowHeight: 30, headingHeight: 30 };

interface Props {
  contents: Contents;
  visible: Visible;
  index: ModelIndex;
  onSelect(ids: readonly string[]): void;
  onSelectEdge(key: string): void;
  /** By the right button, a long press, or the keys that browsers have for it. */
  onMenu(id: string, at: { x: number; y: number }): void;
  onEdgeMenu(key: string, at: { x: number; y: number }): void;
}

/** The picture in words, for those who do not see it: its twins, and what leads from which to which. */
export function Lists(props: Props) {
  const { contents, visible, index, onSelect, onSelectEdge, onMenu, onEdgeMenu } = props;
  const openMenu = (event: MouseEvent<HTMLElement>, open: Props["onMenu"]): void => {
    const row = event.target instanceof Element ? event.target.closest("[data-key]") : null;
    const id = row?.closest('[role="row"]')?.getAttribute("data-key") ?? null;
    if (id === null || !(contents.nodes.has(id) || contents.edges.has(id))) return;
    event.preventDefault();
    const { left, top } = (
      event.currentTarget.parentElement ?? event.currentTarget
    ).getBoundingClientRect();
    open(id, { x: event.clientX - left, y: event.clientY - top });
  };
  return (
    <div className="picture-lists">
      <section aria-label="Twins of the graph" onContextMenu={(event) => openMenu(event, onMenu)}>
        <Twins contents={contents} visible={visible} index={index} onSelect={onSelect} />
      </section>
      <section
        aria-label="Relationships of the graph"
        onContextMenu={(event) => openMenu(event, onEdgeMenu)}
      >
        <Relationships contents={contents} visible={visible} onSelectEdge={onSelectEdge} />
      </section>
    </div>
  );
}

function Twins({
  contents,
  visible,
  index,
  onSelect,
}: Omit<Props, "onSelectEdge" | "onMenu" | "onEdgeMenu">) {
  const chosen = usePicture((state) => state.chosen);
  const items = useMemo(() => {
    const shown = [...visible.edges].flatMap((key) => contents.edges.get(key) ?? []);
    const neighbours = listNeighbours(shown);
    return [...visible.nodes].map((id) => {
      const twin = contents.nodes.get(id);
      const model = modelOf(twin);
      return {
        id,
        label: labelOf(id, twin),
        model: model === "" ? "" : index.label(model),
        count: neighbours.get(id)?.size ?? 0,
      };
    });
  }, [contents, visible, index]);
  return (
    <ListTable
      label="Twins"
      columns={{ label: "Twin", id: "Id", model: "Model", count: "Neighbours" }}
      items={items}
      several
      selected={chosen}
      onSelect={onSelect}
    />
  );
}

function Relationships({
  contents,
  visible,
  onSelectEdge,
}: Omit<Props, "index" | "onSelect" | "onMenu" | "onEdgeMenu">) {
  const items = useMemo(
    () =>
      [...visible.edges].flatMap((key) => {
        const one = contents.edges.get(key);
        if (one === undefined) return [];
        const [source, target] = [one.$sourceId, one.$targetId];
        return [
          {
            id: edgeKey(source, one.$relationshipId),
            name: one.$relationshipName,
            source: labelOf(source, contents.nodes.get(source)),
            target: labelOf(target, contents.nodes.get(target)),
          },
        ];
      }),
    [contents, visible],
  );
  return (
    <ListTable
      label="Relationships"
      columns={{ source: "From", name: "Relationship", target: "To" }}
      header="name"
      items={items}
      onSelect={([key]) => {
        if (key !== undefined) onSelectEdge(key);
      }}
    />
  );
}

interface TableProps<Name extends string> {
  label: string;
  /** What stands above each column, by what of an item stands in it. */
  columns: Record<Name, string>;
  /** The column that a row is named by; at first the first. */
  header?: NoInfer<Name>;
  items: readonly (Record<NoInfer<Name>, string | number> & { id: string })[];
  /** Whether several rows may be chosen together. */
  several?: boolean;
  selected?: readonly string[];
  onSelect(ids: readonly string[]): void;
}

/** A part of a picture in words; only rows that are seen are drawn. */
export function ListTable<Name extends string>(props: TableProps<Name>) {
  const { label, columns, items, several = false, selected, onSelect } = props;
  const names = Object.keys(columns) as Name[];
  const header = props.header ?? names[0];
  return (
    <Virtualizer layout={TableLayout} layoutOptions={LAYOUT}>
      <Table
        aria-label={label}
        className="picture-table"
        selectionMode={several ? "multiple" : "single"}
        selectionBehavior="replace"
        {...(selected === undefined ? {} : { selectedKeys: selected })}
        onSelectionChange={(keys) =>
          onSelect(keys === "all" ? items.map((one) => one.id) : [...keys].map(String))
        }
      >
        <TableHeader>
          {names.map((name) => (
            <Column key={name} id={name} isRowHeader={name === header}>
              {columns[name]}
            </Column>
          ))}
        </TableHeader>
        <TableBody items={items}>
          {(item) => (
            <Row id={item.id}>
              {names.map((name) => (
                <Cell key={name}>{item[name].toLocaleString()}</Cell>
              ))}
            </Row>
          )}
        </TableBody>
      </Table>
    </Virtualizer>
  );
}
