import { ArrowUp, Plus, X } from "lucide-react";
import { useMemo, useState } from "react";
import { Button, Dialog, DialogTrigger, Popover } from "react-aria-components";

import type { JsonObject } from "../api/types";
import type { ModelIndex } from "../models/index";
import { valueAt } from "../results/columns";
import { listProperties } from "./scalars";
import type { Contents } from "./model";
import { describeRule, OPERATORS, type Operator, type Rule } from "./style";
import { Choice, ColorField, TextChoice } from "./StyleOf";
import { useStyle } from "./styleStore";

interface Props {
  contents: Contents;
  index: ModelIndex;
}

/** Colours by value: the list of rules, of which the first that a twin fits holds. */
export function StyleRules({ contents, index }: Props) {
  const rules = useStyle((state) => state.style.rules);
  const setRules = useStyle((state) => state.setRules);
  const [open, setOpen] = useState(false);
  const label = (model: string): string => index.label(model);
  return (
    <>
      <h3>Colours by value</h3>
      <ul aria-label="Colours by value">
        {rules.map((rule, at) => (
          <li key={`${at} ${describeRule(rule, label)}`} className="picture-rule">
            <RuleMark rule={rule} />
            <span className="picture-tick-name">{describeRule(rule, label)}</span>
            {at > 0 && (
              <Button
                className="picture-rule-button"
                aria-label={`Put ${describeRule(rule, label)} first`}
                onPress={() => setRules([rule, ...rules.filter((one) => one !== rule)])}
              >
                <ArrowUp size={12} aria-hidden />
              </Button>
            )}
            <Button
              className="picture-rule-button"
              aria-label={`Remove ${describeRule(rule, label)}`}
              onPress={() => setRules(rules.filter((one) => one !== rule))}
            >
              <X size={12} aria-hidden />
            </Button>
          </li>
        ))}
      </ul>
      <DialogTrigger isOpen={open} onOpenChange={setOpen}>
        <Button className="button button-small">
          <Plus size={13} aria-hidden /> Add a rule
        </Button>
        <Popover placement="left bottom">
          <Dialog aria-label="Colour by value" className="picture-style">
            <NewRule
              contents={contents}
              index={index}
              onAdd={(rule) => {
                setRules([...rules, rule]);
                setOpen(false);
              }}
            />
          </Dialog>
        </Popover>
      </DialogTrigger>
    </>
  );
}

/** The colours of a rule. */
export function RuleMark({ rule }: { rule: Rule }) {
  const background =
    rule.kind === "value" ? rule.color : `linear-gradient(to right, ${rule.low}, ${rule.high})`;
  return <span className="picture-rule-mark" style={{ background }} />;
}

/** Cold and warm, with enough contrast in light and in dark. */
const [LOW, HIGH, ALARM] = ["#2d5ad7", "#c32d00", "#e04040"];

interface NewRuleProps extends Props {
  onAdd(rule: Rule): void;
}

function NewRule({ contents, index, onAdd }: NewRuleProps) {
  const offered = useMemo(() => listProperties(contents, index), [contents, index]);
  const [property, setProperty] = useState<string | null>(null);
  const chosen = property ?? offered[0]?.path ?? "";
  const span = useMemo(() => findSpan(contents, chosen), [contents, chosen]);
  const [asked, setKind] = useState<Rule["kind"] | null>(null);
  const isNumber = offered.find(({ path }) => path === chosen)?.isNumber ?? false;
  const kind = asked ?? (isNumber ? "scale" : "value");
  const [from, setFrom] = useState<string | null>(null);
  const [to, setTo] = useState<string | null>(null);
  const [operator, setOperator] = useState<Operator>("=");
  const [value, setValue] = useState(isNumber ? "" : "true");
  const [colors, setColors] = useState({ low: LOW, high: HIGH, alarm: ALARM });
  const ends = [from ?? span.from, to ?? span.to] as const;
  const ready = kind === "value" || ends.every((one) => one.trim() !== "" && isFinite(Number(one)));
  const add = (): void => {
    const common = { property: chosen, model: null };
    onAdd(
      kind === "value"
        ? { kind, ...common, operator, value, color: colors.alarm }
        : {
            kind,
            ...common,
            from: Number(ends[0]),
            to: Number(ends[1]),
            low: colors.low,
            high: colors.high,
          },
    );
  };
  if (offered.length === 0) return <p>No twin here has a property with one value.</p>;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (ready) add();
      }}
    >
      <h3>Colour by value</h3>
      <Choice
        label="Property"
        value={chosen}
        options={offered.map(({ path }) => [path, path] as const)}
        onChange={setProperty}
      />
      <Choice
        label="As"
        value={kind}
        options={[
          ["scale", "A scale of colours"],
          ["value", "One colour where it compares"],
        ]}
        onChange={(one) => setKind(one === "scale" ? "scale" : "value")}
      />
      {kind === "scale" ? (
        <>
          <TextChoice label="From" isNumber value={ends[0]} onChange={setFrom} />
          <ColorField
            label="Colour there"
            value={colors.low}
            onChange={(low) => setColors({ ...colors, low })}
          />
          <TextChoice label="To" isNumber value={ends[1]} onChange={setTo} />
          <ColorField
            label="Colour at the end"
            value={colors.high}
            onChange={(high) => setColors({ ...colors, high })}
          />
        </>
      ) : (
        <>
          <Choice
            label="Compares"
            value={operator}
            options={OPERATORS.map((one) => [one, one] as const)}
            onChange={(one) => setOperator(OPERATORS.find((known) => known === one) ?? "=")}
          />
          <TextChoice label="With" value={value} onChange={setValue} />
          <ColorField
            label="Colour"
            value={colors.alarm}
            onChange={(alarm) => setColors({ ...colors, alarm })}
          />
        </>
      )}
      <Button type="submit" className="button button-small button-primary" isDisabled={!ready}>
        Add
      </Button>
    </form>
  );
}

/** The least and the greatest number of a property here, as they are written; empty for none. */
function findSpan(contents: Contents, property: string): { from: string; to: string } {
  let [least, most] = [Infinity, -Infinity];
  for (const twin of contents.nodes.values()) {
    const value = twin === null ? null : valueAt(twin as JsonObject, property.split("."));
    if (typeof value !== "number" && typeof value !== "bigint") continue;
    least = Math.min(least, Number(value));
    most = Math.max(most, Number(value));
  }
  return least > most ? { from: "", to: "" } : { from: String(least), to: String(most) };
}
