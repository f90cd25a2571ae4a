import { ArrowLeft, Maximize2, Minimize2, Pencil, Plus } from "lucide-react";
import { Suspense, useEffect, useMemo, useState } from "react";
import {
  Button,
  Header,
  Input,
  Label,
  Link,
  Menu,
  MenuItem,
  MenuSection,
  MenuTrigger,
  Popover,
  Text,
  TextField,
} from "react-aria-components";
import { useLocation } from "wouter";

import { ApiError, titleOf } from "../api/errors";
import { MAY, type Workspace } from "../api/workspaces";
import { routeOf } from "../app/addresses";
import { Failure } from "../app/Failure";
import { isWriting } from "../app/Keys";
import { latePart } from "../app/parts";
import { useParameters } from "../app/search";
import { showText } from "../app/showText";
import { Waiting } from "../app/Waiting";
import { useSession } from "../session/session";
import { Conflict } from "./Conflict";
import { Confirm } from "./Confirm";
import {
  MOST_TILES,
  newTile,
  queryOf,
  renderDashboard,
  TILE_KINDS,
  type Tile,
  type TileKind,
} from "./content";
import { draftKey, useDrafts, type Draft } from "./drafts";
import { Grid } from "./Grid";
import { useDashboard, useReadAnew, useWorkspaces } from "./kept";
import { compact, exchange, findRoom, moveTile, resizeTile } from "./places";
import { useRefresh } from "./rows";
import { tileName, type TileActions } from "./TileView";

// PERF: with the editor of queries, which whoever looks at a dashboard does not need.
const TileEditor = latePart(() => import("./TileEditor"));

/** A dashboard that the service keeps: looked at, or changed. */
export function KeptBoard({ id }: { id: string }) {
  const { graphId, may } = useSession();
  const { data, error, refetch } = useDashboard(id);
  const draft = useDrafts(({ drafts }) => drafts.get(draftKey(graphId, id)));
  if (draft !== undefined) return <Editing id={id} draft={draft} />;
  if (error !== null && data === undefined) {
    return (
      <>
        <Failure
          title="The dashboard cannot be opened"
          error={error}
          onRetry={() => void refetch()}
        />
        <p className="boards">
          <Link href={routeOf(graphId, "dashboards")}>All dashboards</Link>
        </p>
      </>
    );
  }
  if (data === undefined) return <Waiting label="Reading the dashboard" />;
  const { head, tiles } = data;
  const edit = (): void =>
    useDrafts.getState().begin(draftKey(graphId, id), { name: head.name, tiles, etag: head.etag });
  return <Looking name={head.name} tiles={tiles} {...(may(MAY.write) ? { onEdit: edit } : {})} />;
}

/** A dashboard that is not saved yet. */
export function NewBoard() {
  const { graphId } = useSession();
  const draft = useDrafts(({ drafts }) => drafts.get(draftKey(graphId, null)));
  return draft === undefined ? null : <Editing id={null} draft={draft} />;
}

function useQueriesOf(tiles: readonly Tile[]): void {
  const texts = useMemo(
    () => tiles.flatMap((tile) => queryOf(tile) ?? []).filter((text) => text.trim() !== ""),
    [tiles],
  );
  useRefresh(texts);
}

interface LookingProps {
  name: string;
  tiles: readonly Tile[];
  onEdit?: () => void;
}

function Looking({ name, tiles, onEdit }: LookingProps) {
  const { graphId } = useSession();
  const [parameters, write] = useParameters();
  const isWhole = parameters.get("whole") !== null;
  useQueriesOf(tiles);
  const setWhole = (whole: boolean): void => {
    const id = parameters.get("id") ?? "";
    write({ id, ...(whole ? { whole: "1" } : {}) }, { replace: true });
  };
  useKeyF(() => setWhole(!isWhole));
  return (
    <section className={isWhole ? "board board-whole" : "board"} aria-label={name}>
      <header className="board-head">
        {!isWhole && <AllDashboards graphId={graphId} />}
        <h1>{showText(name)}</h1>
        {!isWhole && onEdit !== undefined && (
          <Button className="button" onPress={onEdit}>
            <Pencil size={14} aria-hidden /> Edit
          </Button>
        )}
        <Button
          className="button button-quiet button-icon"
          aria-label={isWhole ? "Leave the whole window (F)" : "Use the whole window (F)"}
          onPress={() => setWhole(!isWhole)}
        >
          {isWhole ? <Minimize2 size={16} aria-hidden /> : <Maximize2 size={16} aria-hidden />}
        </Button>
      </header>
      {tiles.length === 0 && <p className="muted">This dashboard has no tiles.</p>}
      <Grid tiles={tiles} actions={null} onPlace={() => undefined} />
    </section>
  );
}

function useKeyF(toggle: () => void): void {
  useEffect(() => {
    const hear = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== "f" || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isWriting(event) || document.querySelector('[role$="dialog"]') !== null) return;
      toggle();
    };
    document.addEventListener("keydown", hear);
    return () => document.removeEventListener("keydown", hear);
  });
}

function AllDashboards({ graphId }: { graphId: string }) {
  return (
    <Link
      className="button button-quiet button-icon"
      href={routeOf(graphId, "dashboards")}
      aria-label="All dashboards"
    >
      <ArrowLeft size={16} aria-hidden />
    </Link>
  );
}

interface EditingProps {
  /** Null for one that is not kept yet. */
  id: string | null;
  draft: Draft;
}

/** What of the form is open: a tile of the dashboard, or one that is not on it yet. */
interface Open {
  tile: Tile;
  isNew: boolean;
}

function Editing({ id, draft }: EditingProps) {
  const { graphId } = useSession();
  const key = draftKey(graphId, id);
  const { tiles, name } = draft;
  const [open, setOpen] = useState<Open | null>(null);
  const [said, say] = useState("");
  useQueriesOf(tiles);
  const setTiles = (after: readonly Tile[]): void =>
    useDrafts.getState().change(key, { tiles: after });
  const actions = buildActions(tiles, setTiles, say, (tile) => setOpen({ tile, isNew: false }));
  const add = (kind: TileKind): void => {
    setOpen({ tile: newTile(kind, findRoom(tiles, TILE_KINDS[kind].size)), isNew: true });
  };
  const take = (tile: Tile): void => {
    const others = tiles.filter((one) => one.id !== tile.id);
    const isKept = others.length < tiles.length;
    setTiles(isKept ? tiles.map((one) => (one.id === tile.id ? tile : one)) : [...tiles, tile]);
    setOpen(null);
  };
  return (
    <section className="board" aria-label={name || "New dashboard"}>
      <header className="board-head">
        <AllDashboards graphId={graphId} />
        <TextField
          isRequired
          value={name}
          onChange={(after) => useDrafts.getState().change(key, { name: after })}
        >
          <Label>Name of the dashboard</Label>
          <Input maxLength={200} placeholder="Such as North wing" />
        </TextField>
        <AddTile isFull={tiles.length >= MOST_TILES} onAdd={add} />
        <Leave id={id} isChanged={draft.isChanged} />
        <Save id={id} draft={draft} />
      </header>
      {tiles.length === 0 && <p className="muted">Add the first tile.</p>}
      <Grid tiles={tiles} actions={actions} onPlace={setTiles} />
      <p className="visually-hidden" role="status">
        {said}
      </p>
      {open !== null && (
        <Suspense>
          <TileEditor
            tile={open.tile}
            isNew={open.isNew}
            onDone={take}
            onClose={() => setOpen(null)}
          />
        </Suspense>
      )}
    </section>
  );
}

function buildActions(
  tiles: readonly Tile[],
  setTiles: (after: readonly Tile[]) => void,
  say: (what: string) => void,
  onEdit: (tile: Tile) => void,
): TileActions {
  const put = (after: readonly Tile[], id: string): void => {
    setTiles(after);
    const tile = after.find((one) => one.id === id);
    if (tile === undefined) return;
    const { x, y, w, h } = tile.place;
    say(`${tileName(tile)}: column ${x + 1}, row ${y + 1}, ${w} wide, ${h} high`);
  };
  return {
    onEdit: (id) => {
      const tile = tiles.find((one) => one.id === id);
      if (tile !== undefined) onEdit(tile);
    },
    onRemove: (id) => setTiles(compact(tiles.filter((one) => one.id !== id))),
    onMove: (id, step) => put(moveTile(tiles, id, step), id),
    onResize: (id, step) => put(resizeTile(tiles, id, step), id),
    onExchange: (id, by) => put(exchange(tiles, id, by), id),
  };
}

function AddTile({ isFull, onAdd }: { isFull: boolean; onAdd(kind: TileKind): void }) {
  return (
    <MenuTrigger>
      <Button className="button" isDisabled={isFull}>
        <Plus size={14} aria-hidden /> Add a tile
      </Button>
      <Popover placement="bottom end">
        <Menu aria-label="Kinds of tiles" onAction={(kind) => onAdd(kind as TileKind)}>
          <MenuSection>
            <Header className="menu-header">Which kind?</Header>
            {Object.entries(TILE_KINDS).map(([kind, { name, about }]) => (
              <MenuItem key={kind} id={kind} textValue={name}>
                <Text slot="label">{name}</Text>
                <Text slot="description">{about}</Text>
              </MenuItem>
            ))}
          </MenuSection>
        </Menu>
      </Popover>
    </MenuTrigger>
  );
}

/** Ends the changes without saving; asks first where there are some. */
function Leave({ id, isChanged }: { id: string | null; isChanged: boolean }) {
  const { graphId } = useSession();
  const [, navigate] = useLocation();
  const leave = (): void => {
    useDrafts.getState().end(draftKey(graphId, id));
    if (id === null) navigate(routeOf(graphId, "dashboards"), { replace: true });
  };
  const label = "Discard";
  if (!isChanged) {
    return (
      <Button className="button button-quiet" onPress={leave}>
        Done
      </Button>
    );
  }
  return (
    <Confirm
      trigger={<Button className="button button-quiet">{label}</Button>}
      title="Discard the changes?"
      text={id === null ? "The dashboard is not kept." : "The dashboard stays as it was saved."}
      submit={label}
      onSubmit={() => Promise.resolve(leave())}
    />
  );
}

function Save({ id, draft }: EditingProps) {
  const { graphId } = useSession();
  const [, navigate] = useLocation();
  const workspaces = useWorkspaces();
  const readAnew = useReadAnew();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  /** What somebody else has made of it; null where it was deleted. */
  const [theirs, setTheirs] = useState<{ now: Workspace | null } | null>(null);
  const done = async (kept: string): Promise<void> => {
    await readAnew();
    useDrafts.getState().end(draftKey(graphId, id));
    const search = new URLSearchParams({ id: kept }).toString();
    navigate(routeOf(graphId, "dashboards", search), { replace: true });
  };
  const run = async (save: () => Promise<Workspace>): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      await done((await save()).id);
    } catch (failure) {
      if (id !== null && failure instanceof ApiError && failure.isConflict) {
        setTheirs({ now: await workspaces.find(id) });
      } else setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const content = renderDashboard(draft.tiles);
  const name = draft.name.trim();
  const create = (called: string): void => void run(() => workspaces.create(called, content));
  const replace = (etag: string): void =>
    void run(() => workspaces.replace(id ?? "", name, content, etag));
  return (
    <>
      <Button
        className="button button-primary"
        isDisabled={name === ""}
        isPending={busy}
        onPress={() => (id === null || draft.etag === null ? create(name) : replace(draft.etag))}
      >
        Save
      </Button>
      {error !== null && (
        <div className="board-note">
          <Failure title={titleOf(error)} error={error} />
        </div>
      )}
      {theirs !== null && (
        <Conflict
          now={theirs.now}
          onTheirs={() => {
            setTheirs(null);
            if (id !== null) void done(id);
          }}
          onMine={(etag) => {
            setTheirs(null);
            replace(etag);
          }}
          onBoth={() => {
            setTheirs(null);
            create(theirs.now === null ? name : `${name} (mine)`);
          }}
          onClose={() => setTheirs(null)}
        />
      )}
    </>
  );
}
