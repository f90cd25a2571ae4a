import { Copy } from "lucide-react";
import { useState } from "react";
import { Button, ToggleButton, ToggleButtonGroup, type Key } from "react-aria-components";

import type { PushedPart } from "../../api/types";
import { useNotices } from "../../app/notices";
import { Code } from "../../code/Code";
import "./explain.css";
import { listOperators, type Explained, type PlanNode } from "./plan";
import { PlanPicture } from "./PlanPicture";
import { STATEMENT } from "./statement";

/** How the service would run a query: its operators, and what it gives the store to run. */
export default function PlanView({ explained }: { explained: Explained }) {
  const [shown, setShown] = useState<ReadonlySet<Key>>(new Set(["picture"]));
  const { pushed, root, run, steps, text } = explained;
  const operators = listOperators(root);
  const { length } = operators;
  const summary = steps
    ? `${length} ${length === 1 ? "step" : "steps"}, one after the other, the first at the bottom.`
    : summarize(operators, pushed.length);
  return (
    <div className="plan">
      <div className="plan-main">
        <div className="plan-head">
          <ToggleButtonGroup
            aria-label="Plan as"
            selectionMode="single"
            disallowEmptySelection
            selectedKeys={shown}
            onSelectionChange={setShown}
          >
            <ToggleButton id="picture" className="react-aria-ToggleButton button-small">
              Picture
            </ToggleButton>
            <ToggleButton id="text" className="react-aria-ToggleButton button-small">
              Text
            </ToggleButton>
          </ToggleButtonGroup>
          <span className="muted">{summary}</span>
          {run !== undefined && <strong>{run}</strong>}
        </div>
        {shown.has("picture") ? (
          <PlanPicture root={root} pushed={pushed} />
        ) : (
          // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- scrolled by the keyboard
          <pre className="plan-text" tabIndex={0} aria-label="Plan as text">
            {text}
          </pre>
        )}
      </div>
      {pushed.length > 0 && (
        <aside className="plan-parts" aria-label="What the store runs">
          {pushed.map((part, at) => (
            <Part key={`${at}:${part.statement}`} part={part} number={at} />
          ))}
        </aside>
      )}
    </div>
  );
}

function summarize(operators: PlanNode[], statements: number): string {
  const all = operators.length;
  const inStore = operators.filter((one) => one.part !== null).length;
  if (inStore === 0) return `The evaluator runs all ${all} operators.`;
  const how = statements === 1 ? "in one statement" : `in ${statements} statements`;
  return inStore === all
    ? `The store runs all ${all} operators ${how}.`
    : `The store runs ${inStore} of ${all} operators ${how}, the evaluator the rest.`;
}

function Part({ part, number }: { part: PushedPart; number: number }) {
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(part.statement);
      useNotices.getState().say("The statement is copied.");
    } catch (error) {
      useNotices.getState().sayError(error);
    }
  };
  return (
    <section className="plan-part" data-part={number % 4}>
      <header>
        <h3>
          <span className="plan-swatch" aria-hidden /> Part {number + 1} · {part.engine}
        </h3>
        <Button className="button button-quiet button-small" onPress={() => void copy()}>
          <Copy size={13} aria-hidden /> Copy
        </Button>
      </header>
      <p className="muted">
        {part.indexes.length === 0
          ? "No index is used: every row is looked at."
          : `Indexes: ${part.indexes.join(", ")}`}
      </p>
      <Code
        className="plan-statement"
        label={`Statement of part ${number + 1}`}
        value={part.statement}
        extensions={STATEMENT}
        lines={false}
      />
    </section>
  );
}
