import type { Geometry } from "geojson";
import { useEffect, useRef, useState } from "react";

import { Failure } from "../../app/Failure";
import { useSelection } from "../../app/selection";
import { usePalette } from "../../picture/useLook";
import type { DrawnTwin } from "../useDrawn";
import { useLit } from "../useTwins";
import { hasWebGl, NO_WEBGL } from "../webgl";
import { MapPainter } from "./MapPainter";

interface Props {
  drawn: ReadonlyMap<string, DrawnTwin>;
  shapes: ReadonlyMap<string, Geometry[]>;
}

/** Twins on a map without tiles: their outlines and points over meridians and parallels. */
export function GeoMap({ drawn, shapes }: Props) {
  const palette = usePalette();
  const { selected, select } = useSelection();
  const lit = useLit(drawn);
  const host = useRef<HTMLDivElement>(null);
  const [painter, setPainter] = useState<MapPainter | null>(null);
  const [problem, setProblem] = useState<Error | null>(null);
  const [canDraw] = useState(hasWebGl);
  useEffect(() => {
    if (host.current === null || !canDraw) return;
    const made = new MapPainter(host.current, {
      onSelect: (id) => select(id === null ? null : { kind: "twin", id }),
      onError: setProblem,
    });
    setPainter(made);
    return () => {
      made.end();
      setPainter(null);
    };
  }, [canDraw, select]);
  const current = selected?.kind === "twin" ? selected.id : null;
  useEffect(() => painter?.wear(palette), [painter, palette]);
  useEffect(
    () => painter?.draw(drawn, shapes, current, lit),
    [painter, drawn, shapes, current, lit],
  );
  useEffect(() => {
    painter?.reveal(current === null ? [] : (shapes.get(current) ?? []));
    // NOTE: it comes into view when it is selected, not whenever something is drawn anew.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [painter, current]);
  return (
    <div className="maps-stage">
      {!canDraw && <p className="maps-note">{NO_WEBGL}</p>}
      {problem !== null && <Failure title="The map cannot be drawn" error={problem} />}
      <div ref={host} className="maps-map" />
    </div>
  );
}
