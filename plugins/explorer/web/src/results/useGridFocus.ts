import {
  useEffect,
  useRef,
  useState,
  type FocusEvent,
  type KeyboardEvent,
  type RefObject,
} from "react";

interface Options {
  rows: number;
  columns: number;
  /** The rows that are in the document now. */
  drawn: { first: number; last: number };
  scrollTo(row: number): void;
  place: RefObject<HTMLDivElement | null>;
}

const PAGE = 15;

/**
 * One cell of a grid is in the order of Tab; the arrow keys move among them, Enter goes to what is
 * in the cell, as the ARIA pattern of grids has it. Rows out of sight are not in the document, so
 * that the place is kept here and not in the focus.
 */
export function useGridFocus({ rows, columns, drawn, scrollTo, place }: Options) {
  const [focused, setFocused] = useState({ row: 0, column: 0 });
  const wanted = useRef(false);
  useEffect(() => {
    if (!wanted.current) return;
    const found = find(place.current, focused.row, focused.column);
    if (found === null) return;
    wanted.current = false;
    found.focus({ preventScroll: false });
  });
  const onKeyDown = (event: KeyboardEvent): void => {
    const target = event.target as HTMLElement;
    const cell = target.closest<HTMLElement>("[role=gridcell]");
    if (cell === null) return;
    if (target === cell && event.key === "Enter") {
      const inner = cell.querySelector<HTMLElement>("button");
      if (inner === null) return;
      event.preventDefault();
      inner.focus();
      return;
    }
    if (target !== cell) {
      if (event.key === "Escape") cell.focus();
      else if (event.key === "ArrowRight" || event.key === "ArrowLeft") moveWithin(cell, event);
      return;
    }
    const next = move(focused, event, rows, columns);
    if (next === null) return;
    event.preventDefault();
    wanted.current = true;
    scrollTo(next.row);
    setFocused(next);
  };
  // Tab leads into the grid even where the cell it was at is out of sight.
  const isDrawn = focused.row >= drawn.first && focused.row <= drawn.last;
  const entry = {
    row: isDrawn ? focused.row : drawn.first,
    column: Math.min(focused.column, columns - 1),
  };
  const onFocus = (event: FocusEvent): void => {
    const cell = (event.target as HTMLElement).closest<HTMLElement>("[data-cell]");
    const [row = -1, column = -1] = (cell?.dataset["cell"] ?? "").split("/").map(Number);
    if (cell === null || (row === focused.row && column === focused.column)) return;
    setFocused({ row, column });
  };
  return { focused, entry, onKeyDown, onFocus };
}

function find(place: HTMLElement | null, row: number, column: number): HTMLElement | null {
  return place?.querySelector<HTMLElement>(`[data-cell="${row}/${column}"]`) ?? null;
}

/** Within a cell the arrow keys go from one button to the next. */
function moveWithin(cell: HTMLElement, event: KeyboardEvent): void {
  const buttons = [...cell.querySelectorAll<HTMLElement>("button")];
  const at = buttons.indexOf(event.target as HTMLElement);
  const next = buttons[at + (event.key === "ArrowRight" ? 1 : -1)];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}

interface Place {
  row: number;
  column: number;
}

/** Where a key leads; null where it leads nowhere. */
export function move(
  { row, column }: Place,
  event: { key: string; ctrlKey: boolean; metaKey: boolean },
  rows: number,
  columns: number,
): Place | null {
  const far = event.ctrlKey || event.metaKey;
  const to = (next: number, across: number): Place => ({
    row: Math.max(0, Math.min(rows - 1, next)),
    column: Math.max(0, Math.min(columns - 1, across)),
  });
  switch (event.key) {
    case "ArrowDown":
      return to(far ? rows - 1 : row + 1, column);
    case "ArrowUp":
      return to(far ? 0 : row - 1, column);
    case "ArrowRight":
      return to(row, far ? columns - 1 : column + 1);
    case "ArrowLeft":
      return to(row, far ? 0 : column - 1);
    case "PageDown":
      return to(row + PAGE, column);
    case "PageUp":
      return to(row - PAGE, column);
    case "Home":
      return to(far ? 0 : row, 0);
    case "End":
      return to(far ? rows - 1 : row, columns - 1);
    default:
      return null;
  }
}
