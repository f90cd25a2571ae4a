import { X } from "lucide-react";
import { Button } from "react-aria-components";

import { showText } from "../app/showText";
import "../inspector/inspector.css";
import { SelectLink } from "../inspector/SelectLink";
import { writeMoment } from "../inspector/Moment";
import { useWay } from "../locations/useContainment";
import { lineColor } from "./colors";
import { keyOfSeries, type Limit, type SeriesName } from "./request";
import type { Cursor } from "./SeriesChart";
import type { ShownSeries } from "./useSeries";
import { standTo, summarize, valueAtTime, writeDuration, writeNumber } from "./values";

interface Props {
  series: readonly ShownSeries[];
  limit: Limit | null;
  /** The end of what is shown, in seconds since 1970. */
  to: number;
  isSmall: boolean;
  cursor: Cursor;
  onRemove: ((name: SeriesName) => void) | undefined;
}

/** What each line is, and in numbers what it shows. */
export function Legend({ series, limit, to, isSmall, cursor, onRemove }: Props) {
  const time = cursor((state) => state.time);
  return (
    <table className={isSmall ? "time-legend time-legend-small" : "time-legend"}>
      <caption className="time-caption">
        {time === null ? "" : `At ${new Date(time * 1000).toLocaleString()}`}
      </caption>
      <thead>
        <tr>
          <th scope="col">Series</th>
          <th scope="col" className="time-number">
            {time === null ? "Last" : "Then"}
          </th>
          {!isSmall && (
            <>
              <th scope="col" className="time-number">
                Lowest
              </th>
              <th scope="col" className="time-number">
                Highest
              </th>
            </>
          )}
          {limit !== null && (
            <th scope="col">
              {limit.comparison} {writeNumber(limit.value)}
            </th>
          )}
          {onRemove !== undefined && (
            <th scope="col">
              <span className="time-hidden">Take out</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {series.map((one, at) => (
          <Row key={keyOfSeries(one.name)} {...{ one, at, limit, to, isSmall, time, onRemove }} />
        ))}
      </tbody>
    </table>
  );
}

interface RowProps extends Omit<Props, "series" | "cursor"> {
  one: ShownSeries;
  at: number;
  time: number | null;
}

function Row({ one, at, limit, to, isSmall, time, onRemove }: RowProps) {
  const { name, twinName, unit, values, error } = one;
  const { last, lowest, highest } = summarize(values);
  const shown = time === null ? last : valueAtTime(values, time);
  const write = (value: number | null): string => (value === null ? "–" : writeNumber(value));
  return (
    <tr>
      <th scope="row">
        <span className="time-of">
          <span className="time-swatch" style={{ background: lineColor(at) }} aria-hidden />
          <span className="time-name">
            <SelectLink to={{ kind: "twin", id: name.twin }}>{twinName}</SelectLink>
            {!isSmall && <Place id={name.twin} />}
            <span className="time-path">{showText(name.path.replaceAll("/", "."))}</span>
            {error !== null && <span className="time-wrong">{showText(error.message)}</span>}
          </span>
        </span>
      </th>
      <td className="time-number">
        {write(shown)} <span className="muted">{showText(unit)}</span>
      </td>
      {!isSmall && (
        <>
          <td className="time-number">{write(lowest)}</td>
          <td className="time-number">{write(highest)}</td>
        </>
      )}
      {limit !== null && (
        <td>
          <Since one={one} limit={limit} to={to} />
        </td>
      )}
      {onRemove !== undefined && (
        <td>
          <Button
            className="button button-quiet button-icon button-small"
            aria-label={`Take ${twinName} ${name.path} out of the chart`}
            onPress={() => onRemove(name)}
          >
            <X size={13} aria-hidden />
          </Button>
        </td>
      )}
    </tr>
  );
}

/** Where the twin is, in a line. */
function Place({ id }: { id: string }) {
  const way = useWay(id);
  if (way.length === 0) return null;
  return (
    <span className="time-place muted">
      {showText(
        way
          .slice(-2)
          .map((one) => one.name)
          .reverse()
          .join(" · "),
      )}
    </span>
  );
}

/** Since when the values fit the limit. */
function Since({ one, limit, to }: { one: ShownSeries; limit: Limit; to: number }) {
  const standing = standTo(one.values, limit);
  // A step of time says only that it was so at some time of it.
  const about = one.values.step === null ? "" : "about ";
  const write = (seconds: number): string => writeMoment(new Date(seconds * 1000), new Date());
  switch (standing.kind) {
    case "none":
      return <span className="muted">not in this span</span>;
    case "now":
      return (
        <strong>
          {standing.before
            ? `all of this span (${writeDuration(to - standing.since)})`
            : `since ${about}${write(standing.since)} (${writeDuration(to - standing.since)})`}
        </strong>
      );
    case "past":
      return (
        <span className="muted">
          not now; {about}
          {write(standing.from)} to {write(standing.to)}
        </span>
      );
  }
}
