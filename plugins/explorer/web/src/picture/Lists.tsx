import { useMemo } from "react";
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
}

/** The picture in words, for those who do not see it: its twins, and what leads from which to which. */
export function Lists({ contents, visible, index, onSelect, onSelectEdge }: Props) {
  return (
    <div className="picture-lists">
      <section aria-label="Twins of the graph">
        <Twins contents={contents} visible={visible} index={index} onSelect={onSelect} />
      </section>
      <section aria-label="Relationships of the graph">
        <Relationships contents={contents} visible={visible} onSelectEdge={onSelectEdge} />
      </section>
    </div>
  );
}

function Twins({ contents, visible, index, onSelect }: Omit<Props, "onSelectEdge">) {
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
    <Virtualizer layout={TableLayout} layoutOptions={LAYOUT}>
      <Table
        aria-label="Twins"
        className="picture-table"
        selectionMode="multiple"
        selectionBehavior="replace"
        selectedKeys={chosen}
        onSelectionChange={(keys) =>
          onSelect(keys === "all" ? items.map((one) => one.id) : [...keys].map(String))
        }
      >
        <TableHeader>
          <Column id="label" isRowHeader>
            Twin
          </Column>
          <Column id="id">Id</Column>
          <Column id="model">Model</Column>
          <Column id="count">Neighbours</Column>
        </TableHeader>
        <TableBody items={items}>
          {(item) => (
            <Row id={item.id}>
              <Cell>{item.label}</Cell>
              <Cell>{item.id}</Cell>
              <Cell>{item.model}</Cell>
              <Cell>{item.count.toLocaleString()}</Cell>
            </Row>
          )}
        </TableBody>
      </Table>
    </Virtualizer>
  );
}

function Relationships({ contents, visible, onSelectEdge }: Omit<Props, "index" | "onSelect">) {
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
    <Virtualizer layout={TableLayout} layoutOptions={LAYOUT}>
      <Table
        aria-label="Relationships"
        className="picture-table"
        selectionMode="single"
        selectionBehavior="replace"
        onSelectionChange={(keys) => {
          const [key] = keys === "all" ? [] : keys;
          if (key !== undefined) onSelectEdge(String(key));
        }}
      >
        <TableHeader>
          <Column id="source">From</Column>
          <Column id="name" isRowHeader>
            Relationship
          </Column>
          <Column id="target">To</Column>
        </TableHeader>
        <TableBody items={items}>
          {(item) => (
            <Row id={item.id}>
              <Cell>{item.source}</Cell>
              <Cell>{item.name}</Cell>
              <Cell>{item.target}</Cell>
            </Row>
          )}
        </TableBody>
      </Table>
    </Virtualizer>
  );
}
