import { ChevronRight } from "lucide-react";
import { memo } from "react";

import { renderJson } from "../api/json";
import type { Json, Twin } from "../api/types";
import { useSelection, type Selected } from "../app/selection";
import { showText } from "../app/showText";
import type { Called } from "../locations/read";
import { nameOf } from "../models/index";
import { edgeKey, labelOf } from "../picture/model";
import { useCalled } from "./called";
import { isObject, isRelationship, isTwin } from "./documents";
import { useGone } from "./gone";
import { namesTwin } from "./ids";

interface CellProps {
  value: Json | undefined;
  /** What it is called. */
  name: string;
  /** Whether a text is the id of a twin, and leads to it. */
  twin: boolean;
  open: boolean;
  toggleKey: string;
  onToggle(key: string): void;
}

/**
 * A value in the table: a link where it is a twin, a relationship or a model, folded where nested.
 *
 * PERF: its buttons are the browser's own, since hundreds come into sight in a frame of scrolling;
 * they are out of the order of Tab, for the keys of the grid lead to them.
 */
export const Cell = memo(function Cell(props: CellProps) {
  const { value, name, twin, open, toggleKey, onToggle } = props;
  if (value === undefined) return null;
  if (value === null || typeof value !== "object") return <Scalar value={value} twin={twin} />;
  return (
    <div className="results-nested">
      <span className="results-nested-head">
        <button
          type="button"
          className="results-toggle"
          aria-label={`${open ? "Fold" : "Unfold"} ${name}`}
          aria-expanded={open}
          onClick={() => onToggle(toggleKey)}
          tabIndex={-1}
        >
          <ChevronRight size={13} aria-hidden />
        </button>
        <Summary value={value} />
      </span>
      {open && <Members value={value} depth={0} />}
    </div>
  );
});

function Scalar({ value, twin }: { value: Json; twin: boolean }) {
  if (value === null) return <span className="results-null">null</span>;
  if (typeof value === "number" || typeof value === "bigint") {
    return <span className="results-number">{renderJson(value)}</span>;
  }
  if (typeof value === "boolean") return <span className="results-boolean">{String(value)}</span>;
  const text = String(value);
  if (twin) return <Link to={{ kind: "twin", id: text }}>{text}</Link>;
  if (/^dtmi:[\w:]+;\d+(?:\.\d+)?$/.test(text)) {
    return <Link to={{ kind: "model", id: text }}>{text}</Link>;
  }
  return <span className="results-text">{showText(text)}</span>;
}

function Summary({ value }: { value: Json }) {
  if (isTwin(value)) return <TwinSummary twin={value} />;
  if (isRelationship(value)) {
    const to: Selected = {
      kind: "relationship",
      sourceId: value.$sourceId,
      id: value.$relationshipId,
    };
    return (
      <>
        <End id={value.$sourceId} />
        <span className="muted">–</span>
        <Link to={to}>{value.$relationshipName || value.$relationshipId}</Link>
        <span className="muted">→</span>
        <End id={value.$targetId} />
      </>
    );
  }
  if (Array.isArray(value)) {
    return <span className="muted">{`[${value.length}] ${preview(value)}`}</span>;
  }
  if (isObject(value) && typeof value["id"] === "string" && value["id"].startsWith("dtmi:")) {
    return <Link to={{ kind: "model", id: value["id"] }}>{value["id"]}</Link>;
  }
  return <span className="muted">{preview(value)}</span>;
}

/** A twin by its name, then its id, model and where it is. */
function TwinSummary({ twin }: { twin: Twin }) {
  const id = twin.$dtId;
  const label = labelOf(id, twin);
  const place = useCalled(id)?.place ?? "";
  return (
    <>
      <Link to={{ kind: "twin", id }}>{label}</Link>
      {label !== id && <span className="muted results-called">{showText(id)}</span>}
      <span className="results-kind">{nameOf(twin.$metadata.$model)}</span>
      {place !== "" && (
        <span className="muted results-place" title={showText(place)}>
          {showText(place)}
        </span>
      )}
    </>
  );
}

/** An end of a relationship: by its name once that is known. */
function End({ id }: { id: string }) {
  const called = useCalled(id);
  return (
    <Link
      to={{ kind: "twin", id }}
      {...(called === undefined ? {} : { title: tellEnd(id, called) })}
    >
      {called?.name ?? id}
    </Link>
  );
}

function tellEnd(id: string, { name, place }: Called): string {
  return [name === id ? "" : name, id, place]
    .filter((one) => one !== "")
    .map(showText)
    .join(", ");
}

/** The beginning of a value's text. PERF: long ones are not written out whole to be cut. */
function preview(value: Json): string {
  const text = renderJson(value, 0, (_, member) =>
    typeof member === "string" && member.length > 60 ? `${member.slice(0, 60)}…` : member,
  );
  return showText(text.length > 120 ? `${text.slice(0, 120)}…` : text);
}

const DEEPEST = 12;

function Members({ value, depth }: { value: Json; depth: number }) {
  if (value === null || typeof value !== "object") return null;
  return (
    <dl className="results-members">
      {Object.entries(value).map(([name, member]) => {
        const nested = member !== null && typeof member === "object";
        // Times of change fill more lines than all else; the inspector tells them.
        const folded = nested && (name === "$metadata" || depth >= DEEPEST);
        return (
          <div key={name} className={nested && !folded ? "results-group" : undefined}>
            <dt>{name}</dt>
            <dd>
              {!nested ? (
                <Scalar value={member} twin={namesTwin(name)} />
              ) : folded ? (
                <span className="muted results-folded">{preview(member)}</span>
              ) : (
                <>
                  {(isTwin(member) || isRelationship(member)) && <Summary value={member} />}
                  <Members value={member} depth={depth + 1} />
                </>
              )}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

interface LinkProps {
  to: Selected;
  title?: string;
  children: string;
}

function Link({ to, title, children }: LinkProps) {
  const select = useSelection((state) => state.select);
  const gone = useGone(to.kind === "relationship" ? edgeKey(to.sourceId, to.id) : to.id);
  if (gone) {
    return (
      <del className="results-gone" title="Deleted since the query ran">
        {showText(children)}
      </del>
    );
  }
  return (
    <button
      type="button"
      className="results-link"
      title={title}
      onClick={() => select(to)}
      tabIndex={-1}
      {...(to.kind === "twin" ? { "data-twin": to.id } : {})}
    >
      {to.kind === "model" ? (
        <span className="results-model">
          <bdi>{showText(children)}</bdi>
        </span>
      ) : (
        showText(children)
      )}
    </button>
  );
}
