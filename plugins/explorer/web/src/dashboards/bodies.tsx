import { Suspense, useMemo, type ReactNode } from "react";
import { Link } from "react-aria-components";

import { routeOf } from "../app/addresses";
import { Failure } from "../app/Failure";
import { renderSelected } from "../app/selectionAddress";
import { showText } from "../app/showText";
import { Waiting } from "../app/Waiting";
import { symbolOf } from "../models/units";
import { useModels } from "../models/useModels";
import { columnsOf, valueAt } from "../results/columns";
import { isTwin } from "../results/documents";
import { readRequest } from "../time/request";
import { latePart } from "../app/parts";
import { useSession } from "../session/session";
import type { Json } from "../api/types";
import type { BarsTile, NumberTile, SeriesTile, Span, TableTile, TextTile, Tile } from "./content";
import { PictureBody } from "./PictureBody";
import { MOST_ROWS, usePastRows, useTileRows, type TileRows } from "./rows";
import { useSize } from "./useSize";
import { isNumeric, readBars, readNumber, showNumber, showValue, toneOf } from "./values";

// PERF: with the library of charts.
const SeriesChart = latePart(() => import("../time/SeriesChart"));

const SPAN_NAMES: Readonly<Record<Span, string>> = {
  "1h": "an hour ago",
  "24h": "a day ago",
  "7d": "a week ago",
};

interface BodyProps<Shown extends Tile> {
  tile: Shown;
  /** Whether it is in sight; else it asks for nothing. */
  isShown: boolean;
}

/** What a tile shows below its title. */
export function TileBody({ tile, isShown }: BodyProps<Tile>) {
  switch (tile.kind) {
    case "number":
      return <NumberBody tile={tile} isShown={isShown} />;
    case "bars":
      return <BarsBody tile={tile} isShown={isShown} />;
    case "series":
      return <SeriesBody tile={tile} isShown={isShown} />;
    case "table":
      return <TableBody tile={tile} isShown={isShown} />;
    case "picture":
      return <PictureBody tile={tile} isShown={isShown} />;
    case "text":
      return <TextBody tile={tile} />;
  }
}

interface RowsProps<Read> {
  of: ReturnType<typeof useTileRows>;
  /** Throws where the rows cannot be shown. */
  read(found: TileRows): Read;
  children(read: Read, found: TileRows): ReactNode;
}

/** The rows of a query once they are there, or why they are not, with a way to try again. */
function Rows<Read>({ of, read, children }: RowsProps<Read>) {
  const { data, error, refetch } = of;
  if (error !== null) {
    return <Failure title="The query failed" error={error} onRetry={() => void refetch()} />;
  }
  if (data === undefined) return <Waiting />;
  const result = attempt(() => read(data));
  if ("wrong" in result) {
    return <Failure title="The rows cannot be shown like this" error={result.wrong} />;
  }
  return children(result.value, data);
}

function attempt<Value>(make: () => Value): { value: Value } | { wrong: unknown } {
  try {
    return { value: make() };
  } catch (wrong) {
    return { wrong };
  }
}

function NumberBody({ tile, isShown }: BodyProps<NumberTile>) {
  const rows = useTileRows(tile.query, isShown);
  return (
    <Rows of={rows} read={(found) => readNumber(found.rows, tile)}>
      {(value) => {
        if (value === null) return <p className="tile-none muted">No value</p>;
        const tone = toneOf(value, tile.rules);
        return (
          <div className="tile-number" data-tone={tone}>
            <p className="tile-value">
              {showNumber(value, tile.decimals)}
              {tile.unit !== "" && (
                <span className="tile-unit"> {showText(symbolOf(tile.unit))}</span>
              )}
            </p>
            {tone !== null && tone !== "good" && (
              <span className="tile-tone">{TONE_NAMES[tone]}</span>
            )}
            {tile.since !== null && (
              <Since tile={tile} since={tile.since} now={Number(value)} isShown={isShown} />
            )}
          </div>
        );
      }}
    </Rows>
  );
}

const TONE_NAMES = { warning: "Look at it", danger: "Needs attention" } as const;

/** How a number has changed since then; of a graph without history, that it is not known. */
function Since({
  tile,
  since,
  now,
  isShown,
}: BodyProps<NumberTile> & { since: Span; now: number }) {
  const { data, error } = usePastRows(tile.query, since, isShown);
  if (error !== null) {
    return (
      <p className="tile-since" title={error.message}>
        {SPAN_NAMES[since]}: not known
      </p>
    );
  }
  if (data === undefined) return <p className="tile-since">…</p>;
  const then = attempt(() => readNumber(data.rows, tile));
  // NOTE: the rows of then may have had texts: there is nothing to compare with.
  const before = "wrong" in then ? null : then.value;
  if (before === null) return <p className="tile-since">{SPAN_NAMES[since]}: no value</p>;
  const change = now - Number(before);
  const sign = change > 0 ? "▲" : change < 0 ? "▼" : "=";
  return (
    <p className="tile-since">
      <span aria-hidden>{sign} </span>
      {showNumber(change, tile.decimals, true)} against {SPAN_NAMES[since]}
    </p>
  );
}

function BarsBody({ tile, isShown }: BodyProps<BarsTile>) {
  const rows = useTileRows(tile.query, isShown);
  const { index } = useModels();
  return (
    <Rows of={rows} read={(found) => readBars(found.rows)}>
      {(bars, found) => {
        if (bars.length === 0) return <p className="tile-none muted">No rows</p>;
        const [least, most] = [
          Math.min(0, ...bars.map((one) => one.value)),
          Math.max(0, ...bars.map((one) => one.value)),
        ];
        const share = (value: number): number => (100 * value) / (most - least || 1);
        return (
          <Scroll label={`Rows: ${tile.title}`}>
            <ul className="tile-bars">
              {bars.map(({ label, twin, value }, at) => (
                <li key={at}>
                  <span className="tile-bar-name">
                    <Named
                      text={index.interfaces.has(label) ? index.label(label) : label}
                      twin={twin}
                    />
                  </span>
                  <span className="tile-bar-track" aria-hidden>
                    <span
                      style={{
                        marginInlineStart: `${share(Math.min(0, value) - least)}%`,
                        width: `${share(Math.abs(value))}%`,
                      }}
                    />
                  </span>
                  <span className="tile-bar-value">
                    {showNumber(value, 2)}
                    {tile.unit !== "" && (
                      <span className="muted"> {showText(symbolOf(tile.unit))}</span>
                    )}
                  </span>
                </li>
              ))}
            </ul>
            <Rest found={found} />
          </Scroll>
        );
      }}
    </Rows>
  );
}

function SeriesBody({ tile, isShown }: BodyProps<SeriesTile>) {
  const request = useMemo(() => readRequest(tile.chart), [tile.chart]);
  const [host, { height }] = useSize<HTMLDivElement>();
  if (request === null) {
    return <Failure title="This is no chart" error={new Error("Its address names no series.")} />;
  }
  return (
    <div ref={host} className="tile-series">
      {isShown && height > 0 && (
        <Suspense fallback={<Waiting />}>
          <SeriesChart request={request} height={Math.max(80, height - LEGEND)} isSmall />
        </Suspense>
      )}
    </div>
  );
}

/** What is left for the legend of a chart, in pixels. */
const LEGEND = 64;

function TableBody({ tile, isShown }: BodyProps<TableTile>) {
  const rows = useTileRows(tile.query, isShown);
  return (
    <Rows of={rows} read={(found) => columnsOf(found.rows, false)}>
      {(columns, found) => {
        if (columns.length === 0) return <p className="tile-none muted">No rows</p>;
        return (
          <Scroll label={`Rows: ${tile.title}`}>
            <table className="tile-table">
              <thead>
                <tr>
                  {columns.map((one) => (
                    <th key={one.id} scope="col">
                      {showText(one.name)}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {found.rows.map((row, at) => (
                  <tr key={at}>
                    {columns.map((one) => (
                      <Value key={one.id} value={valueAt(row, one.path)} />
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
            <Rest found={found} />
          </Scroll>
        );
      }}
    </Rows>
  );
}

/** What is longer than the tile is scrolled, by keyboard too. */
function Scroll({ label, children }: { label: string; children: ReactNode }) {
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- else no key scrolls it
    <div className="tile-scroll" role="region" aria-label={label} tabIndex={0}>
      {children}
    </div>
  );
}

function Rest({ found }: { found: TileRows }) {
  return found.more ? <p className="muted tile-rest">The first {MOST_ROWS} rows.</p> : null;
}

function Value({ value }: { value: Json | undefined }) {
  const { index } = useModels();
  if (isNumeric(value)) return <td className="tile-right">{showNumber(value, 6)}</td>;
  const text = showValue(value);
  if (index.interfaces.has(text)) return <td title={text}>{showText(index.label(text))}</td>;
  return (
    <td>
      <Named text={text} twin={isTwin(value) ? value.$dtId : null} />
    </td>
  );
}

/** A text; of a twin, a link to where it is looked at. */
function Named({ text, twin }: { text: string; twin: string | null }) {
  const { graphId } = useSession();
  if (twin === null) return showText(text);
  const search = renderSelected("", { kind: "twin", id: twin }).slice(1);
  return <Link href={routeOf(graphId, "query", search)}>{showText(text)}</Link>;
}

function TextBody({ tile }: { tile: TextTile }) {
  if (tile.text.trim() === "") return null;
  return (
    <Scroll label={`Text: ${tile.title}`}>
      <p className="tile-text">{showText(tile.text)}</p>
    </Scroll>
  );
}
