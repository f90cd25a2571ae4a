import { useState } from "react";
import { ToggleButton } from "react-aria-components";

import { renderJson } from "../api/json";
import type { Json } from "../api/types";
import { Failure } from "../app/Failure";
import { showText } from "../app/showText";
import { Waiting } from "../app/Waiting";
import "../inspector/inspector.css";
import { SelectLink } from "../inspector/SelectLink";
import { SIGNS } from "../picture/look";
import { readEdgeKey } from "../picture/model";
import { ACTIONS, MOST_DIFFERENCES, type Action, type Difference } from "./differences";
import { useDifferences } from "./useDifferences";

/** So many are listed; who wants others shows one kind alone, or a shorter time. */
const LISTED = 200;
const MOST_TOLD = 4;

/** What differs between two moments: how much of which kind, as the legend of the picture, and what. */
export function ChangeList() {
  const { differences, error, isLoading } = useDifferences();
  const [isListed, setListed] = useState(false);
  const [hidden, setHidden] = useState<ReadonlySet<Action>>(new Set());
  if (isLoading) return <Waiting label="Comparing the moments" />;
  if (error !== null) return <Failure title="The moments cannot be compared" error={error} />;
  if (differences === null) return null;
  const { all, more } = differences;
  const listed = all.filter((one) => !hidden.has(one.action));
  return (
    <div className="time-changes">
      <div className="time-kinds" role="status">
        {ACTIONS.map((action) => (
          <ToggleButton
            key={action}
            className="button button-small button-quiet"
            isSelected={!hidden.has(action)}
            onChange={(isShown) => {
              const next = new Set(hidden);
              if (isShown) next.delete(action);
              else next.add(action);
              setHidden(next);
              setListed(true);
            }}
          >
            <span className={`time-mark time-${action}`} aria-hidden>
              {SIGNS[action]}
            </span>
            {all.filter((one) => one.action === action).length.toLocaleString()} {action}
          </ToggleButton>
        ))}
        {all.length > 0 && (
          <ToggleButton className="button button-small" isSelected={isListed} onChange={setListed}>
            List changes
          </ToggleButton>
        )}
        {more && (
          <span>
            There are more: the first {MOST_DIFFERENCES.toLocaleString()} are shown. Choose moments
            closer together.
          </span>
        )}
      </div>
      {isListed && (
        <ul className="time-list" aria-label="What changed">
          {listed.slice(0, LISTED).map((one) => (
            <li key={`${one.kind} ${one.key}`}>
              <span className={`time-mark time-${one.action}`} aria-hidden>
                {SIGNS[one.action]}
              </span>
              <span>
                <SelectLink to={selectedOf(one)}>{one.name}</SelectLink> {one.action}
                {one.changes.length > 0 && (
                  <span className="muted"> {showText(tellChanges(one))}</span>
                )}
              </span>
            </li>
          ))}
          {listed.length > LISTED && (
            <li className="muted">and {(listed.length - LISTED).toLocaleString()} more</li>
          )}
        </ul>
      )}
    </div>
  );
}

function selectedOf({ kind, key }: Difference) {
  return kind === "twin" ? ({ kind, id: key } as const) : ({ kind, ...readEdgeKey(key) } as const);
}

/** What became of which value, in a line. */
export function tellChanges({ changes }: Pick<Difference, "changes">): string {
  const told = changes
    .slice(0, MOST_TOLD)
    .map(({ path, before, after }) => `${path}: ${tellValue(before)} → ${tellValue(after)}`);
  const more = changes.length - told.length;
  return told.join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** A value of a document, short; "none" where there is none. */
export function tellValue(value: Json | undefined): string {
  if (value === undefined) return "none";
  const text = typeof value === "string" ? value : renderJson(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
