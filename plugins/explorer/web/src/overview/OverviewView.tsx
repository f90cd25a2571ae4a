import { useQuery } from "@tanstack/react-query";
import { CircleCheck, TriangleAlert } from "lucide-react";
import { Suspense, useMemo, type ReactNode } from "react";
import { Link } from "react-aria-components";

import { latePart } from "../app/parts";
import { routeOf } from "../app/addresses";
import { Failure } from "../app/Failure";
import { showText } from "../app/showText";
import { Waiting } from "../app/Waiting";
import { useTop } from "../locations/useContainment";
import { useCounts, type Counts } from "../models/counts";
import type { ModelIndex } from "../models/index";
import { useModels } from "../models/useModels";
import { ModelIcon } from "../picture/icons";
import { renderLink } from "../query/share";
import { useSession } from "../session/session";
import {
  askConcerns,
  findConcerns,
  listQuestions,
  readDerivations,
  type Concern,
} from "./attention";
import { Guide } from "./Guide";
import "./overview.css";
import { RecentChanges } from "./RecentChanges";
import { TopLevels } from "./TopLevels";

// PERF: with the dialog of uploads, which only an empty graph needs here.
const EmptyGraph = latePart(() => import("./EmptyGraph"));

/** So many models have a bar. */
const MOST_BARS = 10;

/** The start: what the graph is, how much is in it, what happened, and what needs attention. */
export default function OverviewView() {
  const { graphName, configuration, may } = useSession();
  const { index, isLoading, error } = useModels();
  const counts = useCounts(index);
  const { top } = useTop(counts);
  if (isLoading) return <Waiting label="Loading the graph" />;
  if (error !== null) return <Failure title="The models cannot be read" error={error} />;
  const isEmpty = may("models/read") && index.interfaces.size === 0 && counts?.total === 0;
  const [only, ...others] = top?.rows ?? [];
  const name = only !== undefined && others.length === 0 ? only.name : graphName;
  return (
    <section className="overview" aria-label="Overview">
      <header className="overview-head">
        <h1>{showText(name)}</h1>
        <p className="muted">
          {name === graphName ? "" : `${graphName} · `}twinframe {configuration.version}
        </p>
        {!isEmpty && <Numbers index={index} counts={counts} />}
      </header>
      {isEmpty ? (
        <Suspense fallback={<Waiting />}>
          <EmptyGraph />
        </Suspense>
      ) : (
        <div className="overview-cards">
          <Guide index={index} top={top} />
          <TopLevels top={top} index={index} />
          <Card title="Models">
            <Bars index={index} counts={counts} />
          </Card>
          <Card title="Needs attention" isFirst>
            <Attention index={index} counts={counts} />
          </Card>
          <Card title="Recent changes">
            <RecentChanges />
          </Card>
        </div>
      )}
    </section>
  );
}

/** A part of the start. */
export function Card({
  title,
  wide = false,
  isFirst = false,
  children,
}: {
  title: string;
  wide?: boolean;
  /** Whether it comes first where all are below each other. */
  isFirst?: boolean;
  children: ReactNode;
}) {
  const kind = wide ? " overview-wide" : isFirst ? " overview-first" : "";
  return (
    <section className={`overview-card${kind}`} aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** Of a larger graph no relationships are counted: not every storage keeps their number. */
const MOST_COUNTED = 100_000;

function Numbers({ index, counts }: { index: ModelIndex; counts: Counts | null }) {
  const { graph, graphId, may } = useSession();
  const { data } = useQuery({
    queryKey: ["counts", graphId, "relationships"],
    queryFn: async ({ signal }) => {
      const page = await graph.query("MATCH ()-[r]->() RETURN count(*) AS n", { signal });
      return Number(page.value[0]?.["n"] ?? 0);
    },
    enabled: may("query/read") && counts !== null && counts.total <= MOST_COUNTED,
  });
  const shown: [string, number | undefined][] = [
    ["twins", counts?.total],
    ["relationships", data],
    ["models", index.interfaces.size],
  ];
  return (
    <dl className="overview-numbers">
      {shown.map(([what, number]) =>
        number === undefined ? null : (
          <div key={what}>
            <dt>{what}</dt>
            <dd>{number.toLocaleString()}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

function Bars({ index, counts }: { index: ModelIndex; counts: Counts | null }) {
  const { graphId } = useSession();
  if (counts === null) return <p className="muted">You may not ask how many twins there are.</p>;
  const ids = counts.ids.filter((id) => counts.own(id) > 0);
  const most = counts.own(ids[0] ?? "");
  const left = ids.slice(MOST_BARS);
  const rest = left.reduce((sum, id) => sum + counts.own(id), 0);
  if (ids.length === 0) return <p className="muted">No model has a twin yet.</p>;
  return (
    <>
      <ul className="overview-bars">
        {ids.slice(0, MOST_BARS).map((id) => (
          <li key={id}>
            <Link
              className="overview-bar"
              href={routeOf(graphId, "models", new URLSearchParams({ id }).toString())}
            >
              <span className="overview-bar-name">
                <ModelIcon name={index.icon(id)} /> {showText(index.label(id))}
              </span>
              <span className="overview-bar-track" aria-hidden>
                <span
                  style={{
                    width: `${(100 * counts.own(id)) / most}%`,
                    background: index.color(id),
                  }}
                />
              </span>
              <span className="overview-number">{counts.own(id).toLocaleString()}</span>
            </Link>
          </li>
        ))}
      </ul>
      {left.length > 0 && (
        <p className="muted">
          {left.length} more models have {rest.toLocaleString()} twins.{" "}
          <Link href={routeOf(graphId, "models")}>Show all models</Link>
        </p>
      )}
    </>
  );
}

function Attention({ index, counts }: { index: ModelIndex; counts: Counts | null }) {
  const { graph, graphId, may } = useSession();
  const known = useMemo(() => findConcerns(index, counts), [index, counts]);
  const questions = useMemo(
    () => (counts === null ? [] : listQuestions(index, counts)),
    [index, counts],
  );
  const asked = useQuery({
    queryKey: ["overview", graphId, "values", questions.map((one) => one.match)],
    queryFn: ({ signal }) => askConcerns(graph, questions, signal),
    enabled: questions.length > 0 && may("query/read"),
  });
  const derived = useQuery({
    queryKey: ["overview", graphId, "derivations"],
    queryFn: ({ signal }) => readDerivations(graph, signal),
    enabled: may("models/read"),
  });
  const error = asked.error ?? derived.error;
  const concerns = [...known, ...(derived.data ?? []), ...(asked.data ?? [])];
  if (asked.isLoading || derived.isLoading) return <Waiting label="Looking" />;
  return (
    <>
      {concerns.length === 0 && error === null && (
        <p className="overview-well">
          <CircleCheck size={16} aria-hidden /> Nothing is known that needs attention.
        </p>
      )}
      <ul className="overview-concerns">
        {concerns.map((one) => (
          <li key={one.id}>
            <TriangleAlert size={16} aria-hidden />
            <span>{showText(one.text)}</span>
            <ShowConcern of={one} />
          </li>
        ))}
      </ul>
      {error !== null && <Failure title="Not everything could be asked" error={error} />}
    </>
  );
}

function ShowConcern({ of }: { of: Concern }) {
  const { graphId } = useSession();
  if (of.shows === null) return null;
  const href =
    "model" in of.shows
      ? routeOf(graphId, "models", new URLSearchParams({ id: of.shows.model }).toString())
      : routeOf(graphId, "query") +
        renderLink({ text: of.shows.query, parameters: "", view: null });
  return (
    <Link href={href} aria-label={`Show: ${of.text}`}>
      Show
    </Link>
  );
}
