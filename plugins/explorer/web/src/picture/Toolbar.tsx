import {
  ChevronDown,
  FolderOpen,
  Highlighter,
  ImageDown,
  Layers2,
  Maximize,
  Maximize2,
  Minimize2,
  Pin,
  PinOff,
  Play,
  Route,
  Square,
  SquarePen,
  ZoomIn,
  ZoomOut,
} from "lucide-react";
import {
  Button,
  Group,
  ListBox,
  ListBoxItem,
  Menu,
  MenuItem,
  MenuTrigger,
  Popover,
  ProgressBar,
  Select,
  SelectValue,
  Toolbar as AriaToolbar,
  type Key,
} from "react-aria-components";

import type { GraphClient } from "../api/graph";
import { useNotices } from "../app/notices";
import { openBulk } from "../bulk/store";
import { useModels } from "../models/useModels";
import { useSession } from "../session/session";
import { showPath } from "./actions";
import { DisplayToggles, type Display } from "./Display";
import { DrawTools } from "./DrawTools";
import { Filter } from "./Filter";
import { IconButton } from "./IconButton";
import { loadLayout } from "./load";
import type { Painter } from "./Painter";
import { saveGraph, saveImage, saveLayout } from "./save";
import { usePicture, type LayoutKind } from "./store";
import type { LayoutControl } from "./useLayout";
import type { Visible } from "./visible";
import { WordButton, WordToggle } from "./WordButton";

interface Layout {
  id: LayoutKind;
  name: string;
  about: string;
}

/** Ways to lay a picture out. */
export const LAYOUTS: readonly Layout[] = [
  { id: "force", name: "Forces", about: "What is related stands together" },
  { id: "layers", name: "Layers", about: "Parts below their wholes" },
  { id: "circle", name: "Circle", about: "By model, around" },
  { id: "grid", name: "Grid", about: "By model, in rows" },
];

interface Props {
  graph: GraphClient;
  painter: Painter | null;
  ground: string;
  layout: LayoutControl;
  display: Display;
  visible: Visible;
}

/** What may be done with the whole picture. */
export function Toolbar(props: Props) {
  const { painter, layout } = props;
  const { asList } = props.display;
  const { layout: kind, whole, setWhole, highlights, setHighlights } = usePicture();
  const { overlays, setOverlays } = usePicture();
  return (
    <AriaToolbar aria-label="Graph" className="picture-toolbar">
      <Filter />
      <WordToggle
        icon={Highlighter}
        label="Highlight"
        tip="Highlight: the filter highlights what it fits instead of hiding the others"
        isSelected={highlights}
        onChange={setHighlights}
      />
      {!asList && (
        <>
          <LayoutChooser layout={layout} kind={kind} kinds={LAYOUTS} />
          <Zoom painter={painter} />
        </>
      )}
      <OfChosen graph={props.graph} />
      <DrawTools />
      <WordToggle
        icon={Layers2}
        label="Overlay"
        tip="Overlay: the next query highlights its twins in this picture instead of replacing it"
        isSelected={overlays}
        onChange={setOverlays}
      />
      <span className="picture-space" />
      {!asList && (
        <Group aria-label="Files" className="picture-group">
          <SaveMenu {...props} />
          <IconButton
            icon={FolderOpen}
            label="Take the places of a picture saved as JSON"
            isDisabled={painter === null}
            onPress={() => {
              layout.stop();
              if (painter !== null) loadLayout(painter);
            }}
          />
        </Group>
      )}
      <DisplayToggles display={props.display} legendOf="models and relationships" />
      <IconButton
        icon={whole ? Minimize2 : Maximize2}
        label={whole ? "Leave the whole window (F)" : "Use the whole window (F)"}
        onPress={() => setWhole(!whole)}
      />
    </AriaToolbar>
  );
}

export function Zoom({ painter }: { painter: Painter | null }) {
  return (
    <Group aria-label="Zoom" className="picture-group">
      <IconButton icon={ZoomIn} label="Zoom in" onPress={() => painter?.zoom(1.5)} />
      <IconButton icon={ZoomOut} label="Zoom out" onPress={() => painter?.zoom(1 / 1.5)} />
      <IconButton icon={Maximize} label="Show all of it" onPress={() => painter?.fit()} />
    </Group>
  );
}

interface LayoutChooserProps {
  layout: LayoutControl;
  kind: LayoutKind;
  kinds: readonly Layout[];
}

export function LayoutChooser({ layout, kind, kinds }: LayoutChooserProps) {
  return (
    <Group aria-label="Layout" className="picture-group">
      <Select
        aria-label="Layout"
        className="react-aria-Select"
        selectedKey={kind}
        onSelectionChange={(key) => layout.start(key as LayoutKind)}
      >
        <Button className="button button-small">
          <SelectValue />
          <ChevronDown size={13} aria-hidden />
        </Button>
        <Popover>
          <ListBox items={kinds}>
            {({ id, name, about }) => (
              <ListBoxItem id={id} textValue={name}>
                <span slot="label">{name}</span>
                <span slot="description">{about}</span>
              </ListBoxItem>
            )}
          </ListBox>
        </Popover>
      </Select>
      {layout.progress === null ? (
        <IconButton icon={Play} label="Lay out again" onPress={() => layout.start(kind)} />
      ) : (
        <>
          <IconButton icon={Square} label="Stop the layout" onPress={layout.stop} />
          <ProgressBar
            aria-label="Layout"
            value={layout.progress * 100}
            className="picture-progress"
          >
            {({ percentage }) => <span style={{ width: `${percentage}%` }} />}
          </ProgressBar>
        </>
      )}
    </Group>
  );
}

/** What may be done with the twins that are chosen. */
function OfChosen({ graph }: { graph: GraphClient }) {
  const { chosen, path, pinned, pin, setPath } = usePicture();
  const { may } = useSession();
  const [from, to, more] = chosen;
  const all = chosen.length === 0 && pinned.size > 0;
  const held = chosen.length > 0 && chosen.every((id) => pinned.has(id));
  return (
    <Group aria-label="Chosen twins" className="picture-group">
      {path === null ? (
        <WordButton
          icon={Route}
          label="Find path"
          tip="Find the shortest path between two chosen twins"
          isDisabled={from === undefined || to === undefined || more !== undefined}
          onPress={() => {
            if (from !== undefined && to !== undefined) void showPath(graph, from, to);
          }}
        />
      ) : (
        <WordButton
          icon={Route}
          label="Clear path"
          tip="Clear path: no longer highlight it"
          isOn
          onPress={() => setPath(null)}
        />
      )}
      {chosen.length > 1 && may("digitaltwins/write") && (
        <WordButton
          icon={SquarePen}
          label="Edit"
          tip={`Edit: set a property of the ${chosen.length.toLocaleString()} chosen twins`}
          onPress={() => openBulk(chosen)}
        />
      )}
      <IconButton
        icon={held || all ? PinOff : Pin}
        label={
          all
            ? `Unpin all (${pinned.size.toLocaleString()})`
            : held
              ? "Unpin the chosen twins"
              : "Pin the chosen twins"
        }
        isDisabled={chosen.length === 0 && pinned.size === 0}
        onPress={() => (all ? pin([...pinned], false) : pin(chosen, !held))}
      />
    </Group>
  );
}

function SaveMenu({ graph, painter, ground, visible }: Props) {
  const { say, sayError } = useNotices();
  const { index } = useModels();
  const { may } = useSession();
  const save = async (key: Key): Promise<void> => {
    if (key === "json") saveLayout();
    else if (key === "graph") {
      const { names } = usePicture.getState().hiding;
      say(`graph.json has ${await saveGraph(graph, [...visible.nodes], names, index)}.`);
    } else if (painter !== null) await saveImage(painter, ground);
  };
  return (
    <MenuTrigger>
      <WordButton
        icon={ImageDown}
        label="Save picture"
        tip="Save picture: as an image, as a graph or with its places"
        isDisabled={painter === null}
      />
      <Popover>
        <Menu onAction={(key) => void save(key).catch(sayError)}>
          <MenuItem id="png">As an image (PNG)</MenuItem>
          {may("models/read") && <MenuItem id="graph">As a graph with its models (JSON)</MenuItem>}
          <MenuItem id="json">Twins and places (JSON)</MenuItem>
        </Menu>
      </Popover>
    </MenuTrigger>
  );
}
