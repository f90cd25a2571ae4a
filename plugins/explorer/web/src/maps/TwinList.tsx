import { useEffect, useMemo, useRef, useState } from "react";
import {
  Input,
  ListBox,
  ListBoxItem,
  ListLayout,
  SearchField,
  Text,
  Virtualizer,
} from "react-aria-components";

import { useSelection } from "../app/selection";
import type { DrawnTwin } from "./useDrawn";

const LAYOUT = { rowHeight: 44 };
/** From so many on a search is offered. */
const MANY = 8;

interface Props {
  /** What the list is of, such as «Twins on the map». */
  label: string;
  twins: Iterable<DrawnTwin>;
  /** More about a twin than its model, such as how it is drawn. */
  describe?(id: string): string;
}

/** The drawn twins as a list, for the keyboard and for who does not see the picture. */
export function TwinList({ label, twins, describe }: Props) {
  const { selected, select } = useSelection();
  const [text, setText] = useState("");
  const list = useRef<HTMLDivElement>(null);
  const all = useMemo(() => {
    const { compare } = new Intl.Collator(undefined, { numeric: true });
    return [...twins].sort((a, b) => compare(a.label, b.label) || compare(a.id, b.id));
  }, [twins]);
  const shown = useMemo(() => {
    const wanted = text.trim().toLowerCase();
    if (wanted === "") return all;
    return all.filter((one) =>
      [one.id, one.label, one.model].some((said) => said.toLowerCase().includes(wanted)),
    );
  }, [all, text]);
  const current = selected?.kind === "twin" ? selected.id : null;
  useEffect(() => {
    const at = shown.findIndex((one) => one.id === current);
    const box = list.current;
    if (at < 0 || box === null) return;
    // NOTE: a row that is out of view is none of the document, so its place is counted.
    const top = at * LAYOUT.rowHeight;
    const isSeen =
      top >= box.scrollTop && top + LAYOUT.rowHeight <= box.scrollTop + box.clientHeight;
    if (!isSeen) box.scrollTop = top - box.clientHeight / 2;
    // What is selected comes into view once, not whenever something is listed anew.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [current]);
  return (
    <section className="maps-list" aria-label={label}>
      <h2>
        {label} <span className="muted">{all.length.toLocaleString()}</span>
      </h2>
      {all.length >= MANY && (
        <SearchField aria-label={`Search ${label.toLowerCase()}`} value={text} onChange={setText}>
          <Input placeholder="Name, id or model" />
        </SearchField>
      )}
      <Virtualizer layout={ListLayout} layoutOptions={LAYOUT}>
        <ListBox
          ref={list}
          aria-label={label}
          className="maps-twins"
          items={shown}
          dependencies={[describe]}
          selectionMode="single"
          selectionBehavior="replace"
          selectedKeys={current === null ? [] : [current]}
          onSelectionChange={(keys) => {
            const [id] = keys === "all" ? [] : keys;
            if (id !== undefined) select({ kind: "twin", id: String(id) });
          }}
          renderEmptyState={() => <p className="muted">No twin here is called so.</p>}
        >
          {(one) => (
            <ListBoxItem id={one.id} textValue={`${one.label} ${one.id}`} className="maps-twin">
              <span className="models-dot" style={{ background: one.color }} aria-hidden />
              <Text slot="label">{one.label}</Text>
              <Text slot="description">
                {[one.isGone ? "There is no such twin" : one.model, describe?.(one.id)]
                  .filter((part) => part !== undefined && part !== "")
                  .join(" · ")}
              </Text>
            </ListBoxItem>
          )}
        </ListBox>
      </Virtualizer>
    </section>
  );
}
