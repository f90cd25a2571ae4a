import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { Link } from "react-aria-components";

import { MAY, readContent } from "../api/workspaces";
import { routeOf } from "../app/addresses";
import { Failure } from "../app/Failure";
import { showText } from "../app/showText";
import { Waiting } from "../app/Waiting";
import { listenToChanges } from "../live/LiveConnection";
import { useTwins } from "../maps/useTwins";
import { useModels } from "../models/useModels";
import { readBetween } from "../picture/ask";
import { addTo, EMPTY, MOST_EDGES, type Contents } from "../picture/model";
import { dressRelationship, dressTwin } from "../picture/style";
import { listVisible } from "../picture/visible";
import { useSession } from "../session/session";
import { readPicture, type PictureContent } from "../workspaces/content";
import { useWorkspaces } from "../workspaces/useWorkspaces";
import type { PictureTile } from "./content";
import { fitPicture } from "./fitPicture";
import { useSize } from "./useSize";

/** More twins than these have no names in a tile, where they would lie over each other. */
const MOST_NAMES = 40;
/** Changes of relationships are taken together for so long, in milliseconds. */
const PAUSE = 3000;

/** The picture of a workspace: its twins where it has them, in its style, as they are now. */
export function PictureBody({ tile, isShown }: { tile: PictureTile; isShown: boolean }) {
  const { graphId, may } = useSession();
  const { client } = useWorkspaces();
  const isAllowed = may(MAY.read);
  const { data, error, refetch } = useQuery({
    queryKey: ["workspaces", graphId, "picture", tile.workspace],
    queryFn: async ({ signal }) => {
      const workspace = await client.read(tile.workspace, signal);
      return { name: workspace.name, picture: readPicture(readContent(workspace, "picture")) };
    },
    enabled: isShown && isAllowed,
  });
  if (!isAllowed) return <p className="tile-none muted">You may not read workspaces.</p>;
  if (error !== null) {
    const again = (): void => void refetch();
    return <Failure title="The picture cannot be shown" error={error} onRetry={again} />;
  }
  if (data === undefined) return <Waiting />;
  const search = `workspace=${encodeURIComponent(tile.workspace)}`;
  return (
    <div className="tile-picture">
      <Drawing name={data.name} picture={data.picture} />
      <Link href={routeOf(graphId, "query", search)}>Open {showText(data.name)}</Link>
    </div>
  );
}

function Drawing({ name, picture }: { name: string; picture: PictureContent }) {
  const [host, size] = useSize<HTMLDivElement>();
  const { index } = useModels();
  const { contents, error, isSettled } = useContents(picture);
  const visible = useMemo(
    () => listVisible(contents, picture.hiding, index),
    [contents, picture, index],
  );
  const points = useMemo(() => fitPicture(picture.twins, size), [picture, size]);
  const shown = [...visible.nodes].filter((id) => points.has(id));
  const radius = shown.length > 200 ? 2.5 : shown.length > MOST_NAMES ? 4 : 6;
  return (
    <div ref={host} className="tile-drawing">
      {error !== null && <Failure title="The twins cannot be read" error={error} />}
      {shown.length === 0 && isSettled && <p className="tile-none muted">No twins to be seen</p>}
      <svg role="img" aria-label={`${name}: ${shown.length} twins`} width="100%" height="100%">
        {[...visible.edges].map((key) => {
          const edge = contents.edges.get(key);
          const [from, to] = [points.get(edge?.$sourceId ?? ""), points.get(edge?.$targetId ?? "")];
          if (edge === undefined || from === undefined || to === undefined) return null;
          const color = dressRelationship(edge.$relationshipName, picture.style, index);
          return <line key={key} x1={from.x} y1={from.y} x2={to.x} y2={to.y} stroke={color} />;
        })}
        {shown.map((id) => {
          const point = points.get(id);
          if (point === undefined) return null;
          const { label, color } = dressTwin(
            id,
            contents.nodes.get(id) ?? null,
            picture.style,
            index,
          );
          return (
            <g key={id} data-twin={id} fill={color}>
              <title>{showText(label)}</title>
              <circle cx={point.x} cy={point.y} r={radius} />
              {shown.length <= MOST_NAMES && (
                <text x={point.x} y={point.y + radius + 11}>
                  {showText(label)}
                </text>
              )}
            </g>
          );
        })}
      </svg>
    </div>
  );
}

/** The twins of a picture and the relationships between them, which follow the graph. */
function useContents(picture: PictureContent): {
  contents: Contents;
  error: Error | null;
  isSettled: boolean;
} {
  const { graph, graphId } = useSession();
  const client = useQueryClient();
  const ids = useMemo(() => {
    const removed = new Set(picture.removed);
    return picture.twins.map(({ id }) => id).filter((id) => !removed.has(id));
  }, [picture]);
  const { twins, error, isSettled } = useTwins(ids);
  const key = useMemo(() => ["drawn-relationships", graphId, ids], [graphId, ids]);
  const edges = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => readBetween(graph, ids, ids, MOST_EDGES, signal),
    enabled: ids.length > 0,
    staleTime: Infinity,
  });
  const data = edges.data?.relationships;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const wanted = new Set(ids);
    const stop = listenToChanges((changes) => {
      const isOld = changes.some((one) => one.kind === "relationship" && wanted.has(one.sourceId));
      if (!isOld) return;
      timer ??= setTimeout(() => {
        timer = undefined;
        void client.invalidateQueries({ queryKey: key });
      }, PAUSE);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [client, ids, key]);
  const contents = useMemo(() => {
    const there = (data ?? []).filter(
      (one) => twins.has(one.$sourceId) && twins.has(one.$targetId),
    );
    return addTo(EMPTY, [...twins.values()], there);
  }, [twins, data]);
  return { contents, error: error ?? edges.error, isSettled };
}
