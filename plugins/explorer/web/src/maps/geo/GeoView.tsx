import { useQuery, useQueryClient } from "@tanstack/react-query";
import { TriangleAlert } from "lucide-react";
import { useEffect, useMemo } from "react";
import { Button, Dialog, DialogTrigger, Popover } from "react-aria-components";

import { Failure } from "../../app/Failure";
import { showText } from "../../app/showText";
import { Waiting } from "../../app/Waiting";
import { listenToChanges } from "../../live/LiveConnection";
import { useModels } from "../../models/useModels";
import { readTwins } from "../../picture/ask";
import { useSession } from "../../session/session";
import { ColorsButton } from "../ColorsButton";
import { TwinList } from "../TwinList";
import { useDrawn } from "../useDrawn";
import { followTwins, indexTwins, mergeTwins, type Twins } from "../useTwins";
import { EmptyMap } from "./EmptyMap";
import { GeoMap } from "./GeoMap";
import { GeoChoice, useGeoProperties } from "./GeoChoice";
import { locateTwins, MOST_TWINS, readLocated, type Geometries } from "./read";

/** The twins whose properties hold geometries, on a map. */
export default function GeoView() {
  const { index, isLoading, error } = useModels();
  const { properties, all, choose, isChosen } = useGeoProperties(index);
  const located = useLocated(properties);
  const paths = useMemo(() => properties.map((one) => one.path), [properties]);
  const { shapes, problems } = useMemo(
    () => locateTwins(located.twins.values(), paths),
    [located.twins, paths],
  );
  const shown = useMemo(
    () => new Map([...located.twins].filter(([id]) => shapes.has(id))),
    [located.twins, shapes],
  );
  const drawn = useDrawn(shown);
  if (isLoading) return <Waiting label="Loading the models" />;
  const failure = error ?? located.error;
  if (failure !== null) {
    return <Failure title="The map cannot be read" error={failure} onRetry={located.refetch} />;
  }
  return (
    <>
      <div className="maps-tools">
        <GeoChoice all={all} chosen={paths} isChosen={isChosen} onChoose={choose} />
        <Problems problems={problems} />
        {located.more && (
          <span className="muted">
            The first {MOST_TWINS.toLocaleString()} twins of a property are shown.
          </span>
        )}
        <span className="maps-space" />
        <ColorsButton twins={shown} />
      </div>
      {located.isLoading ? (
        <Waiting label="Looking for twins with a geometry" />
      ) : shapes.size === 0 ? (
        <EmptyMap paths={paths} />
      ) : (
        <div className="maps-body">
          <TwinList label="Twins on the map" twins={drawn.values()} />
          <GeoMap drawn={drawn} shapes={shapes} />
        </div>
      )}
    </>
  );
}

const NONE: Twins = new Map();

interface Read {
  twins: Twins;
  more: boolean;
}

/** The twins with a value in one of these properties, which follow the changes of the graph. */
function useLocated(properties: ReturnType<typeof useGeoProperties>["properties"]) {
  const { graph, graphId, may } = useSession();
  const client = useQueryClient();
  const key = useMemo(() => ["geo", graphId, properties], [graphId, properties]);
  const { data, isLoading, error, refetch } = useQuery({
    queryKey: key,
    queryFn: async ({ signal }): Promise<Read> => {
      const { twins, more } = await readLocated(graph, properties, signal);
      return { twins: indexTwins(twins), more };
    },
    enabled: properties.length > 0 && may("query/read"),
    staleTime: Infinity,
  });
  useEffect(() => {
    const tops = new Set(properties.map((one) => `/${one.path.split(".")[0] ?? ""}`));
    const isHere = (id: string): boolean => client.getQueryData<Read>(key)?.twins.has(id) ?? false;
    const stop = followTwins(
      isHere,
      (ids) => readTwins(graph, ids),
      (fresh, gone) =>
        client.setQueryData<Read>(key, (old) =>
          old === undefined ? old : { ...old, twins: mergeTwins(old.twins, fresh, gone) },
        ),
    );
    // What has got a geometry comes to the map: which twin has one only a query tells.
    const stopOther = listenToChanges((changes) => {
      const isNew = changes.some(
        (one) =>
          one.kind === "twin" &&
          one.verb !== "delete" &&
          !isHere(one.id) &&
          (one.verb === "create" ||
            one.paths.some((path) => tops.has(path.replace(/(.)\/.*$/, "$1")))),
      );
      if (isNew) void client.invalidateQueries({ queryKey: key });
    });
    return () => {
      stop();
      stopOther();
    };
  }, [client, graph, key, properties]);
  return {
    twins: data?.twins ?? NONE,
    more: data?.more ?? false,
    isLoading,
    error,
    refetch: () => void refetch(),
  };
}

/** So many are listed; the rest is counted. */
const MOST_LISTED = 50;

function Problems({ problems }: Pick<Geometries, "problems">) {
  if (problems.length === 0) return null;
  const title =
    problems.length === 1
      ? "1 value is no geometry"
      : `${problems.length.toLocaleString()} values are no geometry`;
  return (
    <DialogTrigger>
      <Button className="button button-small button-quiet">
        <TriangleAlert size={14} aria-hidden /> {title}
      </Button>
      <Popover placement="bottom start">
        <Dialog aria-label={title} className="maps-problems">
          <h3>{title}</h3>
          <ul>
            {problems.slice(0, MOST_LISTED).map((one) => (
              <li key={`${one.id} ${one.path}`}>
                <code>{showText(`${one.id} ${one.path}`)}</code>: {showText(one.problem)}
              </li>
            ))}
          </ul>
          {problems.length > MOST_LISTED && (
            <p className="muted">and {(problems.length - MOST_LISTED).toLocaleString()} more</p>
          )}
        </Dialog>
      </Popover>
    </DialogTrigger>
  );
}
