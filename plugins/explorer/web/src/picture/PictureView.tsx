import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Button } from "react-aria-components";

import type { JsonObject, Relationship } from "../api/types";
import { Failure } from "../app/Failure";
import { useInspectorShown } from "../app/inspectorShown";
import { useIsNarrow } from "../app/media";
import { useSelection, type Selected } from "../app/selection";
import { readDirection } from "../locations/containment";
import { useContainment } from "../locations/useContainment";
import { useModels } from "../models/useModels";
import { fetchMore } from "../query/run";
import { collectDocuments } from "../results/documents";
import { useResults } from "../results/store";
import { useSession } from "../session/session";
import { withDeleted, type Action } from "../time/differences";
import { TimeBar } from "../time/TimeBar";
import { useActions, useDifferences, useFoundBefore } from "../time/useDifferences";
import { expand, hideTwins } from "./actions";
import { TWINS } from "./board";
import { Canvas } from "./Canvas";
import { useDisplay } from "./Display";
import { DrawnRelationship } from "./DrawTools";
import { EdgeMenu } from "./EdgeMenu";
import { addMissing, completePicture, pictureRows, useFill } from "./fill";
import { MOST_UNFOLDED, type Folding } from "./folding";
import { isSideways, type Order } from "./layout/layers";
import { Legend } from "./Legend";
import { Lists } from "./Lists";
import { labelOf, MOST_EDGES, MOST_NODES, readEdgeKey, type Contents } from "./model";
import { NodeMenu } from "./NodeMenu";
import type { Painter } from "./Painter";
import "./picture.css";
import { type MenuPlace } from "./PlacedMenu";
import { DOUBLE_CLICK } from "./pointer";
import { NOTHING_HIDDEN, usePicture } from "./store";
import { useStyle } from "./styleStore";
import { Toolbar } from "./Toolbar";
import { usePictureAddress } from "./useAddress";
import { useFolding } from "./useFolding";
import { useLayout } from "./useLayout";
import { useLiveContents } from "./useLiveContents";
import { useLook, usePalette } from "./useLook";
import { listVisible, type Visible } from "./visible";

const KEYS =
  "Arrow keys move among neighbours, Enter selects, E expands, M opens the menu, P pins, H hides, " +
  "plus and minus zoom, 0 shows all, F gives the picture the whole window or takes it back, " +
  "Escape lets go.";

/** The rows of a result as a picture of twins and relationships. */
export default function PictureView({ rows }: { rows: JsonObject[] }) {
  const { graph, configuration, graphId, subject } = useSession();
  const { base } = configuration;
  // Before the rows are pictured: effects run in order.
  useEffect(() => usePicture.getState().open({ base, graphId, subject }), [base, graphId, subject]);
  const contents = usePicture((state) => state.contents);
  const whole = usePicture((state) => state.whole);
  const { busy, error } = useFill();
  // Whoever leaves the view finds the others where they are.
  useEffect(() => () => usePicture.getState().setWhole(false), []);
  useEffect(() => void pictureRows(graph, rows), [graph, rows]);
  useLiveContents(graph);
  useChosenElsewhere();
  const isKept = usePictureAddress(graph, rows, contents);
  return (
    <section
      aria-label="Graph of the result"
      className={whole ? "picture picture-whole" : "picture"}
    >
      {whole && <TimeBar isMovable isWhole />}
      {contents.nodes.size === 0 ? (
        busy === null && <Nothing rows={rows} />
      ) : (
        <Picture contents={contents} isKept={isKept} />
      )}
      {error !== null && (
        <Failure
          title="Not all of the picture could be read"
          error={error}
          onRetry={() => void completePicture(graph)}
        />
      )}
    </section>
  );
}

/** Why nothing is drawn, and what would be. */
function Nothing({ rows }: { rows: JsonObject[] }) {
  const { twins, relationships } = useMemo(() => collectDocuments(rows), [rows]);
  if (twins.length + relationships.length > 0) {
    return (
      <p className="results-nothing muted">
        All twins of the picture were deleted or taken out of it. Run the query again to see what
        there is.
      </p>
    );
  }
  return (
    <p className="results-nothing muted">
      The rows hold neither twins nor relationships, so there is nothing to draw. Return them whole,
      such as <code>MATCH (a)-[r]-&gt;(b) RETURN a, r, b</code>.
    </p>
  );
}

function Picture({ contents: stored, isKept }: { contents: Contents; isKept: boolean }) {
  const { graph, may } = useSession();
  const { index } = useModels();
  const { hiding, chosen, choose } = usePicture();
  const inspect = useInspect();
  const busy = useFill((state) => state.busy);
  const [painter, setPainter] = useState<Painter | null>(null);
  const [menu, setMenu] = useState<MenuPlace | null>(null);
  const [edgeMenu, setEdgeMenu] = useState<MenuPlace | null>(null);
  const display = useDisplay();
  const { overlay, highlights, whole } = usePicture();
  const { differences } = useDifferences();
  const changed = useActions(differences);
  const before = useFoundBefore();
  const contents = useMemo(
    () => (differences === null ? stored : withDeleted(stored, differences.all, before)),
    [stored, differences, before],
  );
  useEffect(() => painter?.fit(), [painter, whole]);
  // A filter that highlights hides nothing.
  const visible = useMemo(
    () => listVisible(contents, highlights ? { ...hiding, filter: "", facets: [] } : hiding, index),
    [contents, hiding, highlights, index],
  );
  const marked = useMemo(() => {
    const narrows = hiding.filter.trim() !== "" || hiding.facets.length > 0;
    if (!highlights || !narrows) return overlay;
    const passing = listVisible(contents, hiding, index).nodes;
    return overlay === null ? passing : new Set([...passing].filter((id) => overlay.has(id)));
  }, [contents, hiding, highlights, index, overlay]);
  const palette = usePalette();
  const folding = useFolding(contents, visible);
  const drawn = folding ?? { contents, visible, within: undefined };
  const markedThere = useMemo(() => {
    if (folding === null || marked === null) return marked;
    return new Set([...marked].flatMap((id) => folding.shownFor.get(id) ?? []));
  }, [folding, marked]);
  // What stands for others has changed where one of them has.
  const changedThere = useMemo(() => {
    if (folding === null || changed === null) return changed;
    const there = [...changed].flatMap(([key, action]): [string, Action][] => {
      const shown = folding.shownFor.get(key);
      return shown === undefined || shown === key ? [[key, action]] : [[shown, "updated"]];
    });
    return new Map(there);
  }, [folding, changed]);
  const look = useLook(drawn.contents, drawn.visible, markedThere, palette, changedThere);
  const style = useStyle((state) => state.style);
  useEffect(
    () => painter?.sync(drawn.contents, index, style, drawn.within),
    [painter, drawn.contents, index, style, drawn.within],
  );
  const layout = useLayout(
    painter,
    drawn.contents,
    drawn.visible,
    busy === null,
    TWINS,
    useOrder(),
  );
  const onSelect = useCallback(
    (id: string, several: boolean, isClick = false) => {
      const { chosen: before, unfold } = usePicture.getState();
      if (folding?.within.has(id) && !several) unfold([id]);
      if (!several) choose([id]);
      else choose(before.includes(id) ? before.filter((one) => one !== id) : [...before, id]);
      if (!several) inspect({ kind: "twin", id }, isClick);
    },
    [choose, inspect, folding],
  );
  const onSelectEdge = (key: string): void => {
    inspect({ kind: "relationship", ...readEdgeKey(key) });
  };
  const onEdgeMenu = (key: string, at: { x: number; y: number }): void => {
    // What is drawn for several, or is gone by now, is no relationship of the graph.
    const one = stored.edges.get(key);
    if (one !== undefined && one === drawn.contents.edges.get(key)) setEdgeMenu({ id: key, ...at });
  };
  const onListed = (ids: readonly string[]): void => {
    choose(ids);
    const [id] = ids;
    if (ids.length === 1 && id !== undefined) inspect({ kind: "twin", id });
  };
  return (
    <>
      <Toolbar
        graph={graph}
        painter={painter}
        ground={palette.ground}
        layout={layout}
        display={display}
        visible={visible}
      />
      <div className="picture-body">
        {display.asList ? (
          <Lists
            contents={contents}
            visible={visible}
            index={index}
            onSelect={onListed}
            onSelectEdge={onSelectEdge}
            onMenu={(id, at) => setMenu({ id, ...at })}
            onEdgeMenu={onEdgeMenu}
          />
        ) : (
          <Canvas
            board={TWINS}
            label="Graph"
            keys={KEYS}
            tell={(id) => tellTwin(id, drawn.contents, folding)}
            contents={drawn.contents}
            visible={drawn.visible}
            look={look}
            onPainter={setPainter}
            onSelect={onSelect}
            onSelectEdge={onSelectEdge}
            onOpen={(id) => {
              // Of the two clicks the first has opened it.
              if (folding === null) void expand(graph, id);
              else usePicture.getState().unfold([id]);
            }}
            onMenu={(id, at) => setMenu({ id, ...at })}
            onEdgeMenu={onEdgeMenu}
            onHide={(id) => hideTwins([id])}
            onWhole={() => usePicture.getState().setWhole(!usePicture.getState().whole)}
            onLetGo={() => {
              inspect(null);
              choose([]);
              usePicture.getState().setPath(null);
            }}
            mayDraw={may("digitaltwins/relationships/write")}
          />
        )}
        {display.legend && <Legend contents={contents} visible={visible} index={index} />}
        <Said visible={visible} folding={folding} />
        <DrawnRelationship />
        <NodeMenu place={menu} open={folding?.open ?? null} onClose={() => setMenu(null)} />
        <EdgeMenu place={edgeMenu} onClose={() => setEdgeMenu(null)} />
      </div>
      <Foot
        contents={contents}
        visible={visible}
        marked={marked}
        chosen={chosen.length}
        isKept={isKept}
      />
    </>
  );
}

/** What stands over the drawing: that it is of a part of the rows only, and that nothing is left. */
function Said({ visible, folding }: { visible: Visible; folding: Folding | null }) {
  const { graph } = useSession();
  const { hiding, hide, folds, setFolds } = usePicture();
  const { rows, continuationToken, activity } = useResults();
  const narrowed =
    hiding.filter.trim() !== ""
      ? `No twin here passes “${hiding.filter}”.`
      : hiding.facets.length > 0
        ? "No twin here passes what is ticked in the legend."
        : null;
  return (
    <div className="picture-said">
      {continuationToken !== null && (
        <p className="picture-note">
          <span role="status">
            The first {rows.length.toLocaleString()} rows are drawn; the query has more.
          </span>
          {activity === "idle" && (
            <Button
              className="button button-small"
              onPress={() => void fetchMore(graph, rows.length + DRAWN_AT_ONCE)}
            >
              Draw {DRAWN_AT_ONCE.toLocaleString()} more
            </Button>
          )}
        </p>
      )}
      {visible.nodes.size > MOST_UNFOLDED && (
        <p className="picture-note">
          {folding !== null && (
            <span role="status">
              {visible.nodes.size.toLocaleString()} twins are drawn as{" "}
              {folding.visible.nodes.size.toLocaleString()}, by what contains them. A click opens
              one.
            </span>
          )}
          <Button className="button button-small" onPress={() => setFolds(!folds)}>
            {folds ? "Draw each" : "Fold by what contains them"}
          </Button>
        </p>
      )}
      {visible.nodes.size === 0 && (
        <p className="picture-note" role="status">
          {narrowed ?? "All twins of the picture are hidden."}
          <Button className="button button-small" onPress={() => hide({ ...NOTHING_HIDDEN })}>
            Show all
          </Button>
        </p>
      )}
    </div>
  );
}

/** So many rows are added to a picture by one press. */
const DRAWN_AT_ONCE = 5000;

function tellTwin(id: string, contents: Contents, folding: Folding | null): string {
  const others = folding?.within.get(id) ?? 0;
  const label = labelOf(id, contents.nodes.get(id));
  let count = 0;
  for (const one of contents.edges.values()) {
    if (one.$sourceId === id || one.$targetId === id) count += 1;
  }
  const within = others === 0 ? "" : `, ${others} twins within`;
  return `${label === id ? id : `${label} (${id})`}${within}, ${count} relationships`;
}

interface FootProps {
  contents: Contents;
  visible: Visible;
  /** What is highlighted; null is nothing. */
  marked: ReadonlySet<string> | null;
  chosen: number;
  /** Whether the address holds the picture as it is. */
  isKept: boolean;
}

/** What is in the picture, what is not to be seen, and what is under way. */
function Foot({ contents, visible, marked, chosen, isKept }: FootProps) {
  const { graph } = useSession();
  const { hide, path, overlay } = usePicture();
  const { busy, complete, cut } = useFill();
  const hidden =
    contents.nodes.size - visible.nodes.size + contents.edges.size - visible.edges.size;
  const { nodes, edges } = contents.left;
  const missing = overlay === null ? [] : [...overlay].filter((id) => !contents.nodes.has(id));
  return (
    <div className="picture-foot">
      <span role="status">
        {count(visible.nodes.size, "twin")}, {count(visible.edges.size, "relationship")}
        {chosen > 0 && `, ${chosen.toLocaleString()} chosen`}
        {marked !== null &&
          `, ${[...marked].filter((id) => visible.nodes.has(id)).length.toLocaleString()} highlighted`}
        {path !== null && `, a path of ${count(path.nodes.length, "twin")}`}
        {busy !== null && ` · ${busy}…`}
      </span>
      {nodes + edges > 0 && (
        <span className="picture-left">
          {count(nodes, "twin")} and {count(edges, "relationship")} are left out: at most{" "}
          {MOST_NODES.toLocaleString()} twins and {MOST_EDGES.toLocaleString()} relationships are
          drawn. Narrow the query, or look at the table.
        </span>
      )}
      {cut && (
        <span className="picture-left">
          Only {MOST_EDGES.toLocaleString()} relationships between these twins were read.
        </span>
      )}
      {missing.length > 0 && busy === null && (
        <Button
          className="button button-small button-quiet"
          onPress={() => void addMissing(graph, missing)}
        >
          Add {count(missing.length, "twin")} of the query that{" "}
          {missing.length === 1 ? "is" : "are"} not in the picture
        </Button>
      )}
      {!isKept && (
        <span className="picture-left">
          This picture is too long for an address: save it as a workspace to keep it.
        </span>
      )}
      {hidden > 0 && (
        <Button
          className="button button-small button-quiet"
          onPress={() => hide({ ...NOTHING_HIDDEN })}
        >
          Show all ({hidden.toLocaleString()} hidden)
        </Button>
      )}
      {!complete && busy === null && (
        <Button
          className="button button-small button-quiet"
          onPress={() => void completePicture(graph)}
        >
          Read the relationships between them
        </Button>
      )}
    </div>
  );
}

function count(number: number, name: string): string {
  return `${number.toLocaleString()} ${name}${number === 1 ? "" : "s"}`;
}

/** Who stands above whom by a relationship: wholes above their parts, else sources above targets. */
function useOrder(): (one: Relationship) => Order {
  const { containment, isChosen } = useContainment();
  return useCallback(
    ({ $relationshipName: name }) => {
      // NOTE: what looks like containment by its shape alone may as well be a flow.
      const direction = isChosen
        ? containment.find((one) => one.name === name)?.direction
        : readDirection(name);
      return direction ?? (isSideways(name) ? "side" : "flow");
    },
    [containment, isChosen],
  );
}

/**
 * Shows what is chosen in the inspector; null: no longer what waits for it. Where the inspector is not
 * open yet, it waits for the second click of a double click: opened before, it would be in the way.
 */
function useInspect(): (one: Selected | null, isClick?: boolean) => void {
  const shown = useInspectorShown();
  const narrow = useIsNarrow();
  const waiting = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(waiting.current), []);
  return useCallback(
    (one, isClick = false) => {
      clearTimeout(waiting.current);
      if (one === null) return;
      const show = (): void => useSelection.getState().select(one);
      if (!isClick || (shown && !narrow)) show();
      else waiting.current = setTimeout(show, DOUBLE_CLICK);
    },
    [shown, narrow],
  );
}

/** What is selected elsewhere, such as in the table, is chosen here too. */
function useChosenElsewhere(): void {
  const selected = useSelection((state) => state.selected);
  useEffect(() => {
    const { contents, chosen, choose } = usePicture.getState();
    if (selected?.kind !== "twin" || !contents.nodes.has(selected.id)) return;
    if (!chosen.includes(selected.id)) choose([selected.id]);
  }, [selected]);
}
