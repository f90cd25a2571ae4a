import { useEffect, useLayoutEffect, useRef, useState, type KeyboardEvent } from "react";

import type { Board } from "./board";
import { DrawingLine } from "./DrawTools";
import { IconSheet, readIcons } from "./icons";
import type { Look } from "./look";
import type { Contents } from "./model";
import { Painter } from "./Painter";
import { bindPointer, type Frame, type PointerHandlers } from "./pointer";
import type { Visible } from "./visible";
import { findNext, isArrow, type Arrow, type At } from "./walk";

export interface CanvasProps {
  board: Board;
  /** What it is a picture of. */
  label: string;
  /** What the keys do. */
  keys: string;
  /** A node in words, for whom the keyboard leads there. */
  tell(id: string): string;
  contents: Contents;
  visible: Visible;
  look: Look;
  onPainter(painter: Painter | null): void;
  /** `isClick`: a second click may follow, for which the drawing has to stay where it is. */
  onSelect(id: string, several: boolean, isClick?: boolean): void;
  onSelectEdge(key: string): void;
  onOpen(id: string): void;
  onMenu?(id: string, at: { x: number; y: number }): void;
  onEdgeMenu?(key: string, at: { x: number; y: number }): void;
  onHide?(id: string): void;
  /** Give the picture the whole window, or take it back. */
  onWhole?(): void;
  /** Whatever was chosen or told apart no longer is. */
  onLetGo(): void;
  mayDraw: boolean;
}

/** The drawing itself with pointer and keyboard. */
export function Canvas(props: CanvasProps) {
  const { look, onPainter } = props;
  const host = useRef<HTMLDivElement>(null);
  const sheet = useRef<HTMLDivElement>(null);
  const [painter, setPainter] = useState<Painter | null>(null);
  const [frame, setFrame] = useState<Frame | null>(null);
  const [at, setAt] = useState<string | null>(null);
  const latest = useRef(props);
  useLayoutEffect(() => {
    latest.current = props;
  });

  useEffect(() => {
    if (host.current === null || sheet.current === null) return;
    const made = new Painter(
      host.current,
      latest.current.look,
      readIcons(sheet.current),
      latest.current.board,
    );
    bindPointer(made, handlersOf(latest, setFrame));
    setPainter(made);
    onPainter(made);
    return () => {
      setPainter(null);
      onPainter(null);
      made.kill();
    };
  }, [onPainter]);
  useEffect(() => painter?.setLook(look), [painter, look]);

  const move = (id: string | null): void => {
    setAt(id);
    painter?.setNear(id);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (painter === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key === "F10" && event.shiftKey ? "ContextMenu" : event.key;
    if (press(key, at, painter, latest.current, move, host.current)) event.preventDefault();
  };
  const told = at === null ? "" : props.tell(at);
  return (
    <div className="picture-stage">
      {/* What an application is to a screen reader: keys go to it. The list is the other way in. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions */}
      <div
        role="application"
        aria-label={props.label}
        aria-roledescription="graph picture"
        aria-describedby="picture-keys"
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        className="picture-canvas"
        ref={host}
        onKeyDown={onKeyDown}
        onBlur={() => move(null)}
        onContextMenu={(event) => event.preventDefault()}
      />
      <p id="picture-keys" hidden>
        {props.keys}
      </p>
      <p role="status" className="picture-told">
        {told}
      </p>
      <DrawingLine />
      {frame !== null && <div className="picture-frame" style={frame} />}
      <IconSheet ref={sheet} />
    </div>
  );
}

function handlersOf(
  latest: React.RefObject<CanvasProps>,
  onFrame: (frame: Frame | null) => void,
): PointerHandlers {
  return {
    onNode: (id, several) => latest.current.onSelect(id, several, true),
    onOpen: (id) => latest.current.onOpen(id),
    onMenu: (id, at) => latest.current.onMenu?.(id, at),
    onEdgeMenu: (key, at) => latest.current.onEdgeMenu?.(key, at),
    onEdge: (key) => latest.current.onSelectEdge(key),
    onGround: () => latest.current.onLetGo(),
    onBox: (ids, several) => {
      const { choose, chosen } = latest.current.board.getState();
      choose(several ? [...new Set([...chosen, ...ids])] : ids);
    },
    onDropped: (ids) => latest.current.board.getState().pin(ids, true),
    listDragged: (id) => {
      const { chosen } = latest.current.board.getState();
      return chosen.includes(id) ? chosen : [id];
    },
    mayDraw: () => latest.current.mayDraw,
    onFrame,
  };
}

/** Does what a key says at the node `at`; whether it says anything. */
function press(
  key: string,
  at: string | null,
  painter: Painter,
  props: CanvasProps,
  move: (id: string | null) => void,
  host: HTMLElement | null,
): boolean {
  const { pinned, pin } = props.board.getState();
  if (isArrow(key)) {
    const next = step(painter, props, at, key);
    if (next !== null) {
      move(next);
      painter.reveal(next);
    }
    return true;
  }
  const always: Record<string, () => void> = {
    "+": () => painter.zoom(1.5),
    "-": () => painter.zoom(1 / 1.5),
    "0": () => painter.fit(),
    ...(props.onWhole === undefined ? {} : { f: props.onWhole, F: props.onWhole }),
    Escape: () => {
      props.onLetGo();
      move(null);
    },
  };
  const here: Record<string, (id: string) => void> = {
    Enter: (id) => props.onSelect(id, false),
    " ": (id) => props.onSelect(id, true),
    e: (id) => props.onOpen(id),
    p: (id) => pin([id], !pinned.has(id)),
    h: (id) => {
      props.onHide?.(id);
      if (props.onHide !== undefined) move(null);
    },
    m: (id) => props.onMenu?.(id, painter.whereIs(id)),
    ContextMenu: (id) => props.onMenu?.(id, painter.whereIs(id)),
  };
  const act = always[key];
  const actHere = here[key.length === 1 ? key.toLowerCase() : key];
  if (act !== undefined) act();
  else if (actHere !== undefined && at !== null) actHere(at);
  else return false;
  host?.focus();
  return true;
}

/** Where an arrow leads: to a neighbour, else to any node there; at first to the middle. */
function step(
  painter: Painter,
  props: CanvasProps,
  at: string | null,
  arrow: Arrow,
): string | null {
  const placed = (id: string): At => ({ id, ...painter.placeOf(id) });
  const all = [...props.visible.nodes].filter((id) => painter.graph.hasNode(id));
  if (at === null || !painter.graph.hasNode(at)) {
    const [chosen] = props.board.getState().chosen;
    return chosen !== undefined && props.visible.nodes.has(chosen) ? chosen : (all[0] ?? null);
  }
  const neighbours = painter.graph.neighbors(at).filter((id) => props.visible.nodes.has(id));
  const from = placed(at);
  return (
    findNext(from, neighbours.map(placed), arrow) ?? findNext(from, all.map(placed), arrow) ?? at
  );
}
