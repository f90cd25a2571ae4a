import { useInfiniteQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { Button } from "react-aria-components";

import type { Page } from "../api/types";
import { Failure } from "../app/Failure";
import { useSelection } from "../app/selection";
import { useModels } from "../models/useModels";
import { useCalledTwins } from "../results/called";
import { useSession } from "../session/session";
import { showText } from "../app/showText";
import { openForm } from "./forms";
import { SelectLink } from "./SelectLink";

/** An end of a relationship that is not the twin itself. */
interface Line {
  name: string;
  sourceId: string;
  id: string;
  other: string;
}

/** What leads from a twin and to it, by name, a page at a time. */
export function Relationships({ id, model }: { id: string; model: string }) {
  const { graph, graphId, may } = useSession();
  const { index } = useModels();
  const offered = (index.interfaces.get(model)?.contents ?? []).some(
    (one) => one.kind === "Relationship",
  );
  if (!may("digitaltwins/relationships/read")) {
    return <p className="inspector-none muted">You may not read the relationships here.</p>;
  }
  return (
    <>
      {may("digitaltwins/relationships/write") && offered && (
        <div className="inspector-actions">
          <Button
            className="button button-small"
            onPress={() => openForm({ kind: "relationship", sourceId: id })}
          >
            <Plus size={13} aria-hidden /> New relationship
          </Button>
        </div>
      )}
      <Lines
        title="Outgoing"
        queryKey={["relationships", graphId, id, "pages"]}
        read={async (next, signal) => {
          const page = await graph.pageRelationships(id, next, signal);
          const value = page.value.map((one) => lineOf(one, one.$targetId));
          return { ...page, value };
        }}
      />
      <Lines
        title="Incoming"
        queryKey={["incoming", graphId, id, "pages"]}
        read={async (next, signal) => {
          const page = await graph.pageIncoming(id, next, signal);
          return { ...page, value: page.value.map((one) => lineOf(one, one.$sourceId)) };
        }}
      />
    </>
  );
}

function lineOf(
  one: { $relationshipName: string; $sourceId: string; $relationshipId: string },
  other: string,
): Line {
  const { $relationshipName: name, $sourceId: sourceId, $relationshipId: id } = one;
  return { name, sourceId, id, other };
}

interface LinesProps {
  title: string;
  queryKey: string[];
  read(next: string | null, signal: AbortSignal): Promise<Page<Line>>;
}

function Lines({ title, queryKey, read }: LinesProps) {
  const select = useSelection((state) => state.select);
  const found = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextLink,
  });
  const lines = found.data?.pages.flatMap((page) => page.value) ?? [];
  const called = useCalledTwins([...new Set(lines.map((one) => one.other))]);
  const more = found.hasNextPage ? "+" : "";
  return (
    <section className="inspector-lines" aria-label={`${title} relationships`}>
      <h3>
        {title} <span className="muted">{found.data && `${lines.length}${more}`}</span>
      </h3>
      {found.error !== null && (
        <Failure
          title="They cannot be read"
          error={found.error}
          onRetry={() => void found.refetch()}
        />
      )}
      {[...groupByName(lines)].map(([name, group]) => (
        <div key={name} className="inspector-group">
          <h4>
            {name} <span className="muted">{group.length}</span>
          </h4>
          <ul>
            {group.map((one) => (
              <li key={`${one.sourceId}\n${one.id}`}>
                <SelectLink to={{ kind: "twin", id: one.other }}>
                  {called.get(one.other)?.name ?? one.other}
                </SelectLink>
                <Button
                  className="inspector-line"
                  aria-label={`Relationship ${one.id}`}
                  onPress={() =>
                    select({ kind: "relationship", sourceId: one.sourceId, id: one.id })
                  }
                >
                  {showText(one.id)}
                </Button>
              </li>
            ))}
          </ul>
        </div>
      ))}
      {found.data !== undefined && lines.length === 0 && (
        <p className="inspector-none muted">None.</p>
      )}
      {found.hasNextPage && (
        <Button
          className="button button-small inspector-more"
          isPending={found.isFetchingNextPage}
          onPress={() => void found.fetchNextPage()}
        >
          More
        </Button>
      )}
    </section>
  );
}

function groupByName(lines: readonly Line[]): Map<string, Line[]> {
  const names = [...new Set(lines.map((one) => one.name))].sort((a, b) => a.localeCompare(b));
  return new Map(names.map((name) => [name, lines.filter((one) => one.name === name)]));
}
