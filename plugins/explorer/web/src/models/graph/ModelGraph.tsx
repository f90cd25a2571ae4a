import { Download } from "lucide-react";
import { useCallback, useEffect, useMemo, useState } from "react";
import { Toolbar } from "react-aria-components";

import type { Relationship } from "../../api/types";
import { useNotices } from "../../app/notices";
import { Canvas } from "../../picture/Canvas";
import { DisplayToggles, useDisplay, type Display } from "../../picture/Display";
import type { Order } from "../../picture/layout/layers";
import type { Look } from "../../picture/look";
import { readEdgeKey } from "../../picture/model";
import type { Painter } from "../../picture/Painter";
import type { Palette } from "../../picture/palette";
import "../../picture/picture.css";
import { saveImage } from "../../picture/save";
import { LayoutChooser, LAYOUTS, Zoom } from "../../picture/Toolbar";
import { useLayout, type LayoutControl } from "../../picture/useLayout";
import { isLarge, usePalette } from "../../picture/useLook";
import type { Visible } from "../../picture/visible";
import { WordButton } from "../../picture/WordButton";
import type { ModelIndex } from "../index";
import { MODELS, useModelPicture } from "./board";
import { ModelLegend } from "./ModelLegend";
import { ModelLists } from "./ModelLists";
import { buildContents, kindOf, listTies, listVisible } from "./ties";

const KEYS =
  "Arrow keys move among neighbours, Enter selects, P pins, plus and minus zoom, 0 shows all, " +
  "Escape lets go.";
const NONE: ReadonlySet<string> = new Set();
/** Circles and grids tell models apart, of which here each is one. */
const KINDS_OF_LAYOUT = LAYOUTS.filter(({ id }) => id === "force" || id === "layers");

/** Of more, layers are too broad for their names; forces keep what belongs together. */
const MOST_LAYERED = 60;

interface Props {
  index: ModelIndex;
  /** The models that the search found; null shows all. */
  found: ReadonlySet<string> | null;
  current: string | null;
  /** Null lets the model go. */
  onChoose(id: string | null): void;
}

/** The models as a picture: what each extends, leads to and has as a part. */
export default function ModelGraph({ index, found, current, onChoose }: Props) {
  const { choose, hidden, setLayout } = useModelPicture();
  const [painter, setPainter] = useState<Painter | null>(null);
  const display = useDisplay();
  const ties = useMemo(() => listTies(index), [index]);
  const contents = useMemo(() => buildContents(index, ties), [index, ties]);
  const visible = useMemo(() => listVisible(contents, found, hidden), [contents, found, hidden]);
  const palette = usePalette();
  const look = useLook(visible, found, palette);
  useEffect(() => choose(current === null ? [] : [current]), [choose, current]);
  useEffect(() => painter?.sync(contents, index), [painter, contents, index]);
  useEffect(() => {
    if (MODELS.places.size > 0 || index.interfaces.size === 0) return;
    setLayout(index.interfaces.size <= MOST_LAYERED ? "layers" : "force");
  }, [setLayout, index]);
  const layout = useLayout(painter, contents, visible, true, MODELS, orderOf);
  useEffect(() => {
    if (found === null || painter === null) return;
    // While a layout is under way, too, as what was found moves with all others.
    painter.frame(visible.nodes);
    return () => painter.frame(null);
  }, [painter, found, visible, layout.progress]);
  const onSelect = useCallback(
    (id: string, several: boolean) => {
      const { chosen } = useModelPicture.getState();
      if (!several) onChoose(id);
      else choose(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id]);
    },
    [choose, onChoose],
  );
  return (
    <section aria-label="Graph of the models" className="picture">
      <Tools painter={painter} palette={palette} layout={layout} display={display} />
      <div className="picture-body">
        {display.asList ? (
          <ModelLists index={index} ties={ties} visible={visible} onChoose={onChoose} />
        ) : (
          <Canvas
            board={MODELS}
            label="Graph of the models"
            keys={KEYS}
            tell={(id) => tellModel(id, index, contents.edges.keys())}
            contents={contents}
            visible={visible}
            look={look}
            onPainter={setPainter}
            onSelect={onSelect}
            onSelectEdge={(key) => onChoose(readEdgeKey(key).sourceId)}
            onOpen={onChoose}
            onLetGo={() => onChoose(null)}
            mayDraw={false}
          />
        )}
        {display.legend && <ModelLegend index={index} ties={ties} palette={palette} />}
      </div>
      <div className="picture-foot">
        <span role="status">{tellSeen(visible, found)}</span>
      </div>
    </section>
  );
}

/** Bases stand above what extends them; other ties only say where those stand that extend nothing. */
function orderOf(tie: Relationship): Order {
  return kindOf(tie) === "extends" ? "up" : "side";
}

/** What is told apart now, but for what the pointer is at. */
function useLook(visible: Visible, found: ReadonlySet<string> | null, palette: Palette): Look {
  const { chosen, pinned } = useModelPicture();
  return useMemo(
    () => ({
      visibleNodes: visible.nodes,
      visibleEdges: visible.edges,
      chosen: new Set(chosen),
      chosenEdge: null,
      path: null,
      marked: null,
      changed: null,
      pinned,
      lit: NONE,
      near: null,
      beside: found === null ? NONE : new Set([...visible.nodes].filter((id) => !found.has(id))),
      from: null,
      large: isLarge(visible),
      palette,
    }),
    [visible, chosen, pinned, found, palette],
  );
}

interface ToolsProps {
  painter: Painter | null;
  palette: Palette;
  layout: LayoutControl;
  display: Display;
}

function Tools({ painter, palette, layout, display }: ToolsProps) {
  const { asList } = display;
  const kind = useModelPicture((state) => state.layout);
  const { sayError } = useNotices();
  return (
    <Toolbar aria-label="Graph" className="picture-toolbar">
      {!asList && (
        <>
          <LayoutChooser layout={layout} kind={kind} kinds={KINDS_OF_LAYOUT} />
          <Zoom painter={painter} />
        </>
      )}
      <span className="picture-space" />
      {!asList && (
        <WordButton
          icon={Download}
          label="Image"
          tip="Save what is in view as an image (PNG)"
          isDisabled={painter === null}
          onPress={() => {
            if (painter !== null) {
              saveImage(painter, palette.ground, "models.png").catch(sayError);
            }
          }}
        />
      )}
      <DisplayToggles display={display} legendOf="the kinds of edges" />
    </Toolbar>
  );
}

function tellModel(id: string, index: ModelIndex, keys: Iterable<string>): string {
  const ends = `\n${id}`;
  const all = [...keys].filter((key) => key.startsWith(`${id}\n`) || key.endsWith(ends));
  return `${index.label(id)} (${id}), ${count(all.length, "edge")}`;
}

function tellSeen({ nodes, edges }: Visible, found: ReadonlySet<string> | null): string {
  const all = `${count(nodes.size, "model")}, ${count(edges.size, "edge")}`;
  if (found === null) return all;
  return `${all}: ${count(found.size, "model")} found, with what ${found.size === 1 ? "it is" : "they are"} tied to`;
}

function count(number: number, name: string): string {
  return `${number.toLocaleString()} ${name}${number === 1 ? "" : "s"}`;
}
