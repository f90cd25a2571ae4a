import { ArrowUp, Plus, X } from "lucide-react";
import { useMemo, useState, type ReactNode } from "react";
import { Button, Dialog, DialogTrigger, Popover } from "react-aria-components";

import type { JsonObject } from "../api/types";
import type { ModelIndex } from "../models/index";
import { valueAt } from "../results/columns";
import { listModelsWith, listProperties } from "./scalars";
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
  const label = (model: string): string => index.label(model);
  return (
    <>
      <h3>Colours by value</h3>
      <ul aria-label="Colours by value">
        {rules.map((rule, at) => (
          <li key={`${at} ${describeRule(rule, label)}`} className="picture-rule">
            <RuleMark rule={rule} />
            <RuleDialog
              contents={contents}
              index={index}
              rule={rule}
              onKeep={(changed) => setRules(rules.map((one) => (one === rule ? changed : one)))}
            >
              <Button
                className="picture-rule-button picture-tick-name"
                aria-label={`Edit ${describeRule(rule, label)}`}
              >
                {describeRule(rule, label)}
              </Button>
            </RuleDialog>
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
      <RuleDialog
        contents={contents}
        index={index}
        rule={null}
        onKeep={(rule) => setRules([...rules, rule])}
      >
        <Button className="button button-small">
          <Plus size={13} aria-hidden /> Add a rule
        </Button>
      </RuleDialog>
    </>
  );
}

interface RuleProps extends Props {
  /** What it is before; null is a new one. */
  rule: Rule | null;
  onKeep(rule: Rule): void;
}

/** A button that opens the form of a rule. */
function RuleDialog({ children, ...of }: RuleProps & { children: ReactNode }) {
  const [open, setOpen] = useState(false);
  return (
    <DialogTrigger isOpen={open} onOpenChange={setOpen}>
      {children}
      <Popover placement="left bottom">
        <Dialog aria-label="Colour by value" className="picture-style">
          <RuleForm
            {...of}
            onKeep={(rule) => {
              setOpen(false);
              of.onKeep(rule);
            }}
          />
        </Dialog>
      </Popover>
    </DialogTrigger>
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

function RuleForm({ contents, index, rule, onKeep }: RuleProps) {
  const offered = useMemo(() => listProperties(contents, index), [contents, index]);
  const [property, setProperty] = useState(rule?.property ?? null);
  const chosen = property ?? offered[0]?.path ?? "";
  const properties = withOwn(
    offered.map(({ path }) => path),
    chosen,
  );
  const [model, setModel] = useState(rule?.model ?? null);
  const models = useMemo(() => listModelsWith(chosen, contents, index), [chosen, contents, index]);
  const span = useMemo(() => findSpan(contents, chosen), [contents, chosen]);
  const [asked, setKind] = useState(rule?.kind ?? null);
  const isNumber = offered.find(({ path }) => path === chosen)?.isNumber ?? false;
  const kind = asked ?? (isNumber ? "scale" : "value");
  const scale = rule?.kind === "scale" ? rule : null;
  const compared = rule?.kind === "value" ? rule : null;
  const [from, setFrom] = useState(scale === null ? null : String(scale.from));
  const [to, setTo] = useState(scale === null ? null : String(scale.to));
  const [operator, setOperator] = useState<Operator | null>(compared?.operator ?? null);
  const [written, setWritten] = useState(compared?.value ?? null);
  const value = written ?? (isNumber ? "" : "true");
  const [colors, setColors] = useState({
    low: scale?.low ?? LOW,
    high: scale?.high ?? HIGH,
    alarm: compared?.color ?? ALARM,
  });
  const ends = [from ?? span.from, to ?? span.to] as const;
  const wanted = kind === "scale" ? ends : isNumber ? [value] : [];
  const ready = wanted.every((one) => one.trim() !== "" && isFinite(Number(one)));
  const compares = operator ?? (isNumber ? ">" : "=");
  const keep = (): void => {
    const common = { property: chosen, model };
    onKeep(
      kind === "value"
        ? { kind, ...common, operator: compares, value, color: colors.alarm }
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
  if (properties.length === 0) return <p>No twin here has a property with one value.</p>;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (ready) keep();
      }}
    >
      <h3>Colour by value</h3>
      <Choice
        label="Property"
        value={chosen}
        options={properties.map((path) => [path, path] as const)}
        onChange={setProperty}
      />
      <Choice
        label="Of"
        value={model ?? ""}
        options={[
          ["", "All models"],
          ...withOwn(models, model ?? "").map((id) => [id, index.label(id)] as const),
        ]}
        onChange={(id) => setModel(id === "" ? null : id)}
      />
      <Choice
        label="As"
        value={kind}
        options={[
          ["scale", "Scale of colours"],
          ["value", "One colour"],
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
            value={compares}
            options={OPERATORS.map((one) => [one, one] as const)}
            onChange={(one) => setOperator(OPERATORS.find((known) => known === one) ?? null)}
          />
          <TextChoice label="With" value={value} onChange={setWritten} />
          <ColorField
            label="Colour"
            value={colors.alarm}
            onChange={(alarm) => setColors({ ...colors, alarm })}
          />
        </>
      )}
      <Button type="submit" className="button button-small button-primary" isDisabled={!ready}>
        {rule === null ? "Add" : "Save"}
      </Button>
    </form>
  );
}

/** What is offered, with what is chosen already although no twin here has it. */
function withOwn(offered: readonly string[], own: string): readonly string[] {
  return own === "" || offered.includes(own) ? offered : [...offered, own];
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
