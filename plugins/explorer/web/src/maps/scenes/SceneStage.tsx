import { Crosshair, Maximize, ZoomIn, ZoomOut } from "lucide-react";
import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";

import { Failure } from "../../app/Failure";
import { IconButton } from "../../picture/IconButton";
import { usePalette } from "../../picture/useLook";
import { hasWebGl, NO_WEBGL } from "../webgl";
import type { PackedScene } from "./pack";
import { loadShapes, ScenePainter, type Look } from "./ScenePainter";

interface Props {
  name: string;
  scene: PackedScene;
  looks: ReadonlyMap<number, Look>;
  /** The nodes that are selected. */
  selected: ReadonlySet<number>;
  labelOf(node: number): string;
  onPick(node: number | null): void;
  /** What lies over the scene, such as its legend. */
  children: ReactNode;
}

const NEARER = 1.3;
/** The part of what is seen that one key moves it. */
const STEP = 0.06;
const ARROWS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** A scene in 3D, which is turned, moved and zoomed by mouse, fingers and keys. */
export function SceneStage(props: Props) {
  const { name, scene, looks, selected, children } = props;
  const palette = usePalette();
  const host = useRef<HTMLDivElement>(null);
  const heard = useRef(props);
  const [painter, setPainter] = useState<ScenePainter | null>(null);
  const [hovered, setHovered] = useState<{ node: number; x: number; y: number } | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const [canDraw] = useState(hasWebGl);
  useEffect(() => {
    heard.current = props;
  });
  useEffect(() => {
    if (host.current === null || !canDraw) return;
    let made: ScenePainter | null = null;
    let isOver = false;
    const start = async (stage: HTMLElement): Promise<void> => {
      const shapes = await loadShapes(scene.glb.buffer);
      if (isOver) return;
      made = new ScenePainter(stage, {
        onPick: (node) => heard.current.onPick(node),
        onHover: (node, x, y) => setHovered(node === null ? null : { node, x, y }),
      });
      made.take(shapes);
      setPainter(made);
    };
    start(host.current).catch((error: unknown) => {
      if (!isOver) setProblem(error);
    });
    return () => {
      isOver = true;
      made?.end();
      setPainter(null);
    };
  }, [canDraw, scene]);
  useEffect(() => painter?.draw(looks, palette), [painter, looks, palette]);
  useEffect(() => painter?.reveal(selected), [painter, selected]);
  const keys = (event: KeyboardEvent): void => {
    const [across, down] = ARROWS[event.key] ?? [0, 0];
    if (painter === null || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "-")
      painter.zoom(event.key === "+" ? NEARER : 1 / NEARER);
    else if (event.key === "0") painter.fit();
    else if (event.key === "Enter") painter.fit(selected);
    else if (across === 0 && down === 0) return;
    else if (event.shiftKey) painter.pan(across * STEP, -down * STEP);
    else painter.turn(across, down);
    event.preventDefault();
  };
  return (
    <div className="maps-stage">
      {!canDraw && <p className="maps-note">{NO_WEBGL}</p>}
      {problem !== null && <Failure title="The scene cannot be drawn" error={problem} />}
      <div
        ref={host}
        className="scene-canvas"
        role="application"
        aria-label={`3D scene ${name}`}
        aria-describedby="scene-keys"
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- an application takes keys.
        tabIndex={0}
        {...{ onKeyDown: keys }}
      />
      {painter !== null && (
        <>
          <div className="plan-zoom" role="group" aria-label="View">
            <IconButton label="Zoom in" icon={ZoomIn} onPress={() => painter.zoom(NEARER)} />
            <IconButton label="Zoom out" icon={ZoomOut} onPress={() => painter.zoom(1 / NEARER)} />
            <IconButton label="Show all" icon={Maximize} onPress={() => painter.fit()} />
            <IconButton
              label="Show the selected twin"
              icon={Crosshair}
              isDisabled={selected.size === 0}
              onPress={() => painter.fit(selected)}
            />
          </div>
          {hovered !== null && (
            <p className="scene-tip" style={{ left: hovered.x, top: hovered.y }}>
              {props.labelOf(hovered.node)}
            </p>
          )}
        </>
      )}
      {children}
      <p id="scene-keys" className="scene-keys">
        Arrow keys turn it, with Shift move it; + and - zoom, 0 shows all, Enter what is selected.
      </p>
    </div>
  );
}
