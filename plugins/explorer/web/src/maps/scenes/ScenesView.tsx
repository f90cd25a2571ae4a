import { useQuery } from "@tanstack/react-query";
import { Link2 } from "lucide-react";
import { useMemo, useState } from "react";
import { ToggleButton } from "react-aria-components";

import { readContent, type Workspace } from "../../api/workspaces";
import { Failure } from "../../app/Failure";
import { useNotices } from "../../app/notices";
import { useSelection } from "../../app/selection";
import { Waiting } from "../../app/Waiting";
import { Choice } from "../../picture/StyleOf";
import { useSession } from "../../session/session";
import { ColorsButton } from "../ColorsButton";
import { KeptTools } from "../KeptTools";
import { KeptView } from "../KeptView";
import { TwinList } from "../TwinList";
import { useDrawn } from "../useDrawn";
import type { Kept } from "../useKept";
import { useLit } from "../useTwins";
import { BindSide } from "./BindSide";
import { buildLooks, listNodes, type Rest } from "./looks";
import { NewScene } from "./NewScene";
import type { PackedScene } from "./pack";
import { deletePieces, keepBinding, readPieces, readScene, type Scene } from "./scene";
import { SceneLegend } from "./SceneLegend";
import { SceneStage } from "./SceneStage";
import "../plans/plans.css";
import "./scenes.css";
import { useBound } from "./useBound";

/** 3D scenes whose parts are bound to twins, kept as workspaces of the graph. */
export default function ScenesView() {
  return (
    <KeptView
      kind="scene"
      show="scenes"
      thing="3D scene"
      about="A 3D scene is a glTF file, such as an export of a building’s model, whose parts are bound to twins by their names. Their colours follow their values."
      One={OneScene}
      New={NewScene}
    />
  );
}

function OneScene({ kept, onNew }: { kept: Kept; onNew(): void }) {
  const { graphId } = useSession();
  const { current, workspaces } = kept;
  const read = useMemo(() => readHead(current), [current]);
  const pieces = read.scene?.pieces ?? [];
  const shapes = useQuery({
    queryKey: ["scene", graphId, pieces],
    queryFn: ({ signal }) => readPieces(workspaces, pieces, signal),
    enabled: pieces.length > 0,
    staleTime: Infinity,
    retry: false,
  });
  const error = kept.error ?? read.error ?? shapes.error;
  const tools = (
    <KeptTools
      kept={kept}
      thing="3D scene"
      onNew={onNew}
      onDeleted={() => deletePieces(workspaces, pieces)}
    />
  );
  if (read.scene === null || shapes.data === undefined || current === undefined) {
    return (
      <>
        <div className="maps-tools">{tools}</div>
        {error === null ? (
          <Waiting label="Loading the scene" />
        ) : (
          <Failure title="The scene cannot be shown" error={error} onRetry={kept.refresh} />
        )}
      </>
    );
  }
  return (
    <Body
      name={current.name}
      scene={read.scene}
      shapes={shapes.data}
      tools={tools}
      mayWrite={kept.mayWrite}
      onBind={async (part, twin) => {
        kept.refresh(await keepBinding(workspaces, current, part, twin));
        useNotices.getState().say(`The binding of ${part} is saved.`);
      }}
    />
  );
}

function readHead(current: Workspace | undefined): { scene: Scene | null; error: unknown } {
  if (current === undefined) return { scene: null, error: null };
  try {
    return { scene: readScene(readContent(current, "scene")), error: null };
  } catch (error) {
    return { scene: null, error };
  }
}

const REST: readonly (readonly [Rest, string])[] = [
  ["through", "See through"],
  ["solid", "Solid"],
  ["hidden", "Hidden"],
];

interface BodyProps {
  name: string;
  scene: Scene;
  shapes: PackedScene;
  tools: React.ReactNode;
  mayWrite: boolean;
  onBind(part: string, twin: string | null | undefined): Promise<void>;
}

function Body({ name, scene, shapes, tools, mayWrite, onBind }: BodyProps) {
  const { parts } = shapes;
  const { bound, twins, isSettled, error } = useBound(parts, scene.bindings);
  const shown = useMemo(() => {
    const ids = [...bound.values()].flatMap(({ twin }) => (twin === null ? [] : [twin]));
    return new Map(ids.map((id) => [id, twins.get(id) ?? null]));
  }, [bound, twins]);
  const drawn = useDrawn(shown, isSettled);
  const lit = useLit(drawn);
  const { selected, select } = useSelection();
  const current = selected?.kind === "twin" ? selected.id : null;
  const [rest, setRest] = useState<Rest>("through");
  const [isAlone, setAlone] = useState(false);
  const [isBinding, setBinding] = useState(false);
  const [chosen, setChosen] = useState<string | null>(null);
  const part = isBinding ? chosen : null;
  const nodes = useMemo(
    () => listNodes(parts, bound, isBinding ? { part } : { twin: current }),
    [parts, bound, isBinding, part, current],
  );
  const looks = useMemo(
    () => buildLooks({ scene: parts, bound, drawn, lit, selected: nodes, rest, isAlone }),
    [parts, bound, drawn, lit, nodes, rest, isAlone],
  );
  const twinAt = (node: number): string | null =>
    parts.chains.get(node)?.map((one) => bound.get(one)?.twin).find((id) => id != null) ?? null; // prettier-ignore
  const pick = (node: number | null): void => {
    if (isBinding) return setChosen(node === null ? null : (parts.chains.get(node)?.[0] ?? null));
    const id = node === null ? null : twinAt(node);
    select(id === null ? null : { kind: "twin", id });
  };
  const labelOf = (node: number): string => {
    const id = twinAt(node);
    const [own] = parts.chains.get(node) ?? [];
    if (isBinding || id === null)
      return `${own ?? "Without a name"}${id === null ? ": no twin" : ""}`;
    return drawn.get(id)?.label ?? id;
  };
  return (
    <>
      <div className="maps-tools">
        {tools}
        <ToggleButton
          className="react-aria-ToggleButton button-small"
          isSelected={isBinding}
          onChange={setBinding}
        >
          <Link2 size={14} aria-hidden /> Bindings
        </ToggleButton>
        <span className="maps-space" />
        <div className="scene-rest">
          <Choice
            label="Without a twin"
            value={rest}
            options={REST}
            onChange={(word) => setRest(REST.find(([one]) => one === word)?.[0] ?? "through")}
          />
        </div>
        <ToggleButton
          className="react-aria-ToggleButton button-small"
          isSelected={isAlone}
          onChange={setAlone}
        >
          Selected alone
        </ToggleButton>
        <ColorsButton twins={shown} />
      </div>
      {error !== null && <Failure title="The twins cannot be read" error={error} />}
      <div className="maps-body">
        {isBinding ? (
          <BindSide
            bound={bound}
            drawn={drawn}
            chosen={chosen}
            mayWrite={mayWrite}
            onChoose={setChosen}
            onBind={onBind}
          />
        ) : (
          <TwinList label="Twins in the scene" twins={drawn.values()} />
        )}
        <SceneStage
          name={name}
          scene={shapes}
          looks={looks}
          selected={nodes}
          labelOf={labelOf}
          onPick={pick}
        >
          <SceneLegend drawn={drawn} />
        </SceneStage>
      </div>
    </>
  );
}
