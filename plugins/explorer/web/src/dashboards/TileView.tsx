import { ArrowDown, ArrowUp, Move, Pencil, Trash2 } from "lucide-react";
import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import { Button } from "react-aria-components";

import { Boundary } from "../app/Boundary";
import { showText } from "../app/showText";
import { TileBody } from "./bodies";
import { TILE_KINDS, type Tile } from "./content";
import type { Step } from "./places";

/** What may be done with a tile while its dashboard is changed. */
export interface TileActions {
  onEdit(id: string): void;
  onRemove(id: string): void;
  onMove(id: string, step: Step): void;
  onResize(id: string, step: Step): void;
  /** Where tiles are below each other: with the one before or behind it. */
  onExchange(id: string, by: 1 | -1): void;
}

interface Props {
  tile: Tile;
  /** Null while it is only looked at. */
  actions: TileActions | null;
  /** Whether tiles are below each other. */
  isStacked: boolean;
}

/** A tile: its title, what it shows, and in a dashboard that is changed what may be done with it. */
export function TileView({ tile, actions, isStacked }: Props) {
  const [host, isShown] = useInSight();
  const name = tileName(tile);
  return (
    <section ref={host} className="tile" data-kind={tile.kind} aria-label={name}>
      {(tile.title !== "" || actions !== null) && (
        <header className="tile-head">
          <h2>{showText(name)}</h2>
          {actions !== null && (
            <TileTools tile={tile} name={name} actions={actions} isStacked={isStacked} />
          )}
        </header>
      )}
      <div className="tile-body">
        <Boundary name={`The tile ${name}`}>
          <TileBody tile={tile} isShown={isShown} />
        </Boundary>
      </div>
    </section>
  );
}

/** What a tile is called: its title, or its kind where it has none. */
export function tileName(tile: Tile): string {
  return tile.title === "" ? TILE_KINDS[tile.kind].name : tile.title;
}

const STEPS: Readonly<Record<string, Step>> = {
  ArrowLeft: { x: -1, y: 0 },
  ArrowRight: { x: 1, y: 0 },
  ArrowUp: { x: 0, y: -1 },
  ArrowDown: { x: 0, y: 1 },
};

function TileTools({
  tile,
  name,
  actions,
  isStacked,
}: Props & { name: string; actions: TileActions }) {
  const { id } = tile;
  const steer = (event: KeyboardEvent): void => {
    const step = STEPS[event.key];
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    if (event.shiftKey) actions.onResize(id, step);
    else actions.onMove(id, step);
  };
  return (
    <div className="tile-tools">
      {isStacked ? (
        <>
          <Tool
            name={`Move up: ${name}`}
            icon={ArrowUp}
            onPress={() => actions.onExchange(id, -1)}
          />
          <Tool
            name={`Move down: ${name}`}
            icon={ArrowDown}
            onPress={() => actions.onExchange(id, 1)}
          />
        </>
      ) : (
        // A plain button: the arrow keys are its own.
        <button
          type="button"
          className="button button-quiet button-icon button-small"
          aria-label={`Move or resize: ${name}`}
          title="Arrow keys move it, with Shift they resize it"
          onKeyDown={steer}
        >
          <Move size={14} aria-hidden />
        </button>
      )}
      <Tool name={`Change: ${name}`} icon={Pencil} onPress={() => actions.onEdit(id)} />
      <Tool name={`Remove: ${name}`} icon={Trash2} onPress={() => actions.onRemove(id)} />
    </div>
  );
}

function Tool(props: { name: string; icon: typeof Pencil; onPress(): void }) {
  return (
    <Button
      className="button button-quiet button-icon button-small"
      aria-label={props.name}
      onPress={props.onPress}
    >
      <props.icon size={14} aria-hidden />
    </Button>
  );
}

/** So many pixels before a tile comes into sight it begins to ask. */
const MARGIN = "200px";

/** Whether an element is in sight or nearly so. PERF: what is out of sight asks for nothing. */
function useInSight(): [React.RefObject<HTMLElement | null>, boolean] {
  const host = useRef<HTMLElement>(null);
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    if (host.current === null) return;
    const observer = new IntersectionObserver(
      (entries) => setShown(entries.at(-1)?.isIntersecting ?? false),
      { rootMargin: MARGIN },
    );
    observer.observe(host.current);
    return () => observer.disconnect();
  }, []);
  return [host, isShown];
}
