import {
  columnResizingFeature,
  columnSizingFeature,
  createColumnHelper,
  createSortedRowModel,
  rowSortingFeature,
  tableFeatures,
  useTable,
} from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown, ArrowUp } from "lucide-react";
import { memo, useCallback, useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { Button } from "react-aria-components";

import { renderJson } from "../api/json";
import type { Json, JsonObject } from "../api/types";
import { useNotices } from "../app/notices";
import { CalledOf } from "./called";
import { Cell } from "./cells";
import { compareValues, valueAt, type Column } from "./columns";
import { isRelationship, isTwin } from "./documents";
import { namesTwin } from "./ids";
import { litSince } from "./newest";
import { useResults } from "./store";
import { useGridFocus } from "./useGridFocus";

const features = tableFeatures({
  columnSizingFeature,
  columnResizingFeature,
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
});
const helper = createColumnHelper<typeof features, JsonObject>();

const ROW_HEIGHT = 29;
const NUMBER_WIDTH = 56;

interface Props {
  rows: JsonObject[];
  columns: Column[];
  /** The columns that the query says are ids of twins. */
  ids: ReadonlySet<string>;
  /** Called when the last rows come into sight. */
  onEnd(): void;
}

/** The rows as a grid of cells; only what is in sight is drawn, so that 100,000 rows are no more. */
export function ResultTable({ rows, columns, ids, onEnd }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const first = rows[0];
  const definitions = useMemo(
    () => columns.map((column) => define(column, columns.length, first)),
    [columns, first],
  );
  const sorting = useResults((state) => state.sorting);
  const table = useTable({
    features,
    columns: definitions,
    data: rows,
    columnResizeMode: "onChange",
    enableMultiSort: true,
    sortDescFirst: false,
    getRowId: (_row, index) => String(index),
    state: { sorting },
    onSortingChange: (change) => {
      const { sorting: before, set } = useResults.getState();
      set({ sorting: typeof change === "function" ? change(before) : change });
    },
  });
  useEffect(() => {
    // NOTE: what it returns in newer browsers is no function that ends the effect.
    void place.current?.scrollTo({ top: 0 });
  }, [sorting]);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const sorted = table.getRowModel().rows;
  // eslint-disable-next-line react-hooks/incompatible-library -- no compiler memoises here
  const virtualizer = useVirtualizer({
    count: sorted.length,
    getScrollElement: () => place.current,
    estimateSize: () => ROW_HEIGHT,
    getItemKey: (index) => sorted[index]?.id ?? index,
    overscan: 8,
    onChange: (one) => {
      const last = one.getVirtualItems().at(-1);
      if (last !== undefined && last.index >= sorted.length - 20) onEnd();
    },
  });
  const items = virtualizer.getVirtualItems();
  const grid = useGridFocus({
    rows: sorted.length,
    drawn: { first: items[0]?.index ?? 0, last: items.at(-1)?.index ?? 0 },
    columns: columns.length,
    scrollTo: (row) => virtualizer.scrollToIndex(row),
    place,
  });
  const toggle = useCallback(
    (key: string) =>
      setOpen((before) => {
        const after = new Set(before);
        if (!after.delete(key)) after.add(key);
        return after;
      }),
    [],
  );
  const copy = (event: KeyboardEvent): void => {
    const isCopy = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "c";
    if (!isCopy || grid.focused.row < 0 || String(getSelection()) !== "") return;
    const [row, column] = [sorted[grid.focused.row], columns[grid.focused.column]];
    if (row === undefined || column === undefined) return;
    event.preventDefault();
    const value = valueAt(row.original, column.path);
    void copyText(typeof value === "string" ? value : renderJson(value ?? null, 2));
  };
  const widths = table
    .getFlatHeaders()
    .map((header) => `${header.getSize()}px`)
    .join(" ");
  const width = table.getTotalSize() + NUMBER_WIDTH;
  return (
    <div className="results-scroll" ref={place}>
      <div
        role="grid"
        aria-label="Rows of the result"
        aria-rowcount={sorted.length + 1}
        aria-colcount={columns.length}
        aria-readonly="true"
        className="results-grid"
        tabIndex={-1}
        style={{ width, "--results-columns": `${NUMBER_WIDTH}px ${widths}` } as React.CSSProperties}
        onFocus={grid.onFocus}
        onKeyDown={(event) => {
          copy(event);
          grid.onKeyDown(event);
        }}
      >
        <div role="rowgroup" className="results-head">
          <div role="row" aria-rowindex={1} className="results-row">
            <span aria-hidden className="results-index" />
            {table.getFlatHeaders().map((header, at) => {
              const direction = header.column.getIsSorted();
              return (
                <div
                  key={header.id}
                  role="columnheader"
                  aria-colindex={at + 1}
                  aria-sort={
                    direction === false ? "none" : direction === "asc" ? "ascending" : "descending"
                  }
                  className="results-header"
                >
                  <Button
                    className="results-sort"
                    onPress={(event) => header.column.toggleSorting(undefined, event.shiftKey)}
                  >
                    <span className="results-name">{columns[at]?.name}</span>
                    {direction === "asc" && <ArrowUp size={13} aria-hidden />}
                    {direction === "desc" && <ArrowDown size={13} aria-hidden />}
                  </Button>
                  <Resizer
                    name={columns[at]?.name ?? ""}
                    size={header.getSize()}
                    onStart={header.getResizeHandler()}
                    onSize={(size) =>
                      table.setColumnSizing((before) => ({ ...before, [header.column.id]: size }))
                    }
                  />
                </div>
              );
            })}
          </div>
        </div>
        <div
          role="rowgroup"
          className="results-body"
          style={{ height: virtualizer.getTotalSize() }}
        >
          <CalledOf rows={items.map((item) => sorted[item.index]?.original ?? {})}>
            {items.map((item) => {
              const row = sorted[item.index];
              if (row === undefined) return null;
              return (
                <Row
                  key={item.key}
                  id={row.id}
                  row={row.original}
                  index={item.index}
                  start={item.start}
                  columns={columns}
                  ids={ids}
                  entry={grid.entry.row === item.index ? grid.entry.column : -1}
                  open={open}
                  onToggle={toggle}
                  measure={virtualizer.measureElement}
                />
              );
            })}
          </CalledOf>
        </div>
      </div>
    </div>
  );
}

function isId({ path }: Column, ids: ReadonlySet<string>): boolean {
  const [first = ""] = path;
  return path.length === 1 ? namesTwin(first) || ids.has(first) : namesTwin(path.at(-1) ?? "");
}

interface RowProps {
  id: string;
  row: JsonObject;
  index: number;
  start: number;
  columns: Column[];
  ids: ReadonlySet<string>;
  /** The column whose cell is in the order of Tab; -1 where none of this row is. */
  entry: number;
  open: ReadonlySet<string>;
  onToggle(key: string): void;
  measure: (element: Element | null) => void;
}

/** PERF: memoised, so that scrolling draws the rows that come into sight and no other. */
const Row = memo(function Row(props: RowProps) {
  const { id, row, index, start, columns, ids, entry, open, onToggle, measure } = props;
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      data-index={index}
      ref={measure}
      className="results-row results-data"
      style={{ transform: `translateY(${start}px)` }}
    >
      <span aria-hidden className="results-index">
        {index + 1}
      </span>
      {columns.map((column, at) => {
        const key = `${id}/${column.id}`;
        const lit = litSince(row, column.path);
        return (
          <div
            key={column.id}
            role="gridcell"
            aria-colindex={at + 1}
            data-cell={`${index}/${at}`}
            tabIndex={at === entry ? 0 : -1}
            className="results-cell"
          >
            {lit !== null && <span key={lit} className="results-glow live-lit" />}
            <Cell
              value={valueAt(row, column.path)}
              name={column.path.at(-1) ?? ""}
              twin={isId(column, ids)}
              open={open.has(key)}
              toggleKey={key}
              onToggle={onToggle}
            />
          </div>
        );
      })}
    </div>
  );
});

/** A relationship is shown with both its ends, a twin with where it is: they take more room. */
function widthOf(value: Json | undefined, count: number): number {
  if (count === 1) return 480;
  if (isRelationship(value)) return 340;
  if (isTwin(value)) return count <= 4 ? 340 : 260;
  return count <= 4 ? 240 : 180;
}

function define(column: Column, count: number, first: JsonObject | undefined) {
  // NOTE: null and missing alike are undefined here, which stays at the end in either direction.
  return helper.accessor((row: JsonObject): unknown => valueAt(row, column.path) ?? undefined, {
    id: column.id,
    header: column.name,
    size: widthOf(first && valueAt(first, column.path), count),
    minSize: 60,
    maxSize: 1600,
    sortUndefined: "last",
    sortFn: (one, other) =>
      compareValues(valueAt(one.original, column.path), valueAt(other.original, column.path)),
  });
}

interface ResizerProps {
  name: string;
  size: number;
  onStart: (event: unknown) => void;
  onSize(size: number): void;
}

/** The edge of a header, to be drawn by mouse or touch or moved by the arrow keys. */
function Resizer({ name, size, onStart, onSize }: ResizerProps) {
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- a window splitter
    <div
      role="separator"
      aria-orientation="vertical"
      aria-label={`Width of ${name}`}
      aria-valuenow={Math.round(size)}
      // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it takes arrow keys
      tabIndex={0}
      className="results-resizer"
      onMouseDown={onStart}
      onTouchStart={onStart}
      onKeyDown={(event) => {
        const by = { ArrowLeft: -20, ArrowRight: 20 }[event.key];
        if (by === undefined) return;
        event.preventDefault();
        event.stopPropagation();
        onSize(Math.min(1600, Math.max(60, size + by)));
      }}
    />
  );
}

async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    useNotices.getState().say("The value is copied.");
  } catch (error) {
    useNotices.getState().sayError(error);
  }
}
