import { Download, Link2, MoveLeft, MoveRight, ZoomIn, ZoomOut } from "lucide-react";
import { useState } from "react";
import {
  Button,
  FieldError,
  Group,
  Input,
  Label,
  Menu,
  MenuItem,
  MenuTrigger,
  Popover,
  TextField,
  Toolbar,
} from "react-aria-components";

import { useNotices } from "../app/notices";
import { Choice } from "../control/Choice";
import { IconButton } from "../picture/IconButton";
import {
  AGGREGATES,
  readLimit,
  spanOf,
  type Aggregate,
  type ChartRequest,
  type Range,
} from "./request";
import { saveChart, saveSeries } from "./save";
import type { ShownSeries } from "./useSeries";

interface Props {
  request: ChartRequest;
  /** The present, in milliseconds since 1970, as of the last reading. */
  now: number;
  onChange(part: Partial<ChartRequest>, leadsBack?: boolean): void;
  drawing: HTMLCanvasElement | null;
  shown: readonly ShownSeries[];
}

const SPANS = [
  { id: "15m", name: "15 minutes" },
  { id: "1h", name: "Hour" },
  { id: "6h", name: "6 hours" },
  { id: "24h", name: "24 hours" },
  { id: "7d", name: "7 days" },
  { id: "30d", name: "30 days" },
  { id: "365d", name: "Year" },
];
const OWN = "between";
const AUTO = "auto";
const STEPS = ["10s", "1m", "5m", "15m", "1h", "6h", "1d"];
const NAMES: Record<Aggregate, string> = {
  avg: "Average",
  min: "Lowest",
  max: "Highest",
  last: "Last",
  first: "First",
  sum: "Sum",
  count: "Count",
};

/** What of time a chart shows, and how. */
export function ChartToolbar(props: Props) {
  const { request, now, onChange } = props;
  const { range, step } = request;
  const present = now === 0 ? Date.now : () => now;
  const spanned = (): { from: number; to: number } => spanOf(range, present());
  const show = (from: number, to: number): void =>
    onChange({ range: { kind: "between", from: Math.round(from), to: Math.round(to) } }, true);
  const shift = (share: number): void => {
    const { from, to } = spanned();
    show(from + (to - from) * share, to + (to - from) * share);
  };
  const scale = (factor: number): void => {
    const { from, to } = spanned();
    const [middle, half] = [(from + to) / 2, ((to - from) / 2) * factor];
    show(middle - half, middle + half);
  };
  const known = range.kind === "last" ? range.span : OWN;
  const spans =
    SPANS.some((one) => one.id === known) || known === OWN
      ? SPANS
      : [...SPANS, { id: known, name: known }];
  return (
    <Toolbar aria-label="Chart" className="time-toolbar">
      <Choice
        label="Span"
        options={[...spans, { id: OWN, name: "From … to …" }]}
        value={known}
        onChange={(chosen) => {
          if (chosen === OWN) onChange({ range: { kind: OWN, ...spanned() } });
          else onChange({ range: { kind: "last", span: chosen } });
        }}
      />
      {range.kind === OWN && <Between range={range} onChange={onChange} />}
      <Choice
        label="Step"
        options={[
          { id: AUTO, name: "By itself" },
          ...STEPS.map((one) => ({ id: one, name: one })),
          ...(step === null || STEPS.includes(step) ? [] : [{ id: step, name: step }]),
        ]}
        value={step ?? AUTO}
        onChange={(chosen) => onChange({ step: chosen === AUTO ? null : chosen })}
      />
      <Choice
        label="Of a step"
        options={AGGREGATES.map((one) => ({ id: one, name: NAMES[one] }))}
        value={request.aggregate}
        onChange={(aggregate) => onChange({ aggregate })}
      />
      <Compare
        key={request.limit === null ? "" : `${request.limit.comparison}${request.limit.value}`}
        {...{ request, onChange }}
      />
      <Group aria-label="Move in time" className="picture-group">
        <IconButton icon={MoveLeft} label="Earlier" onPress={() => shift(-0.5)} />
        <IconButton icon={MoveRight} label="Later" onPress={() => shift(0.5)} />
        <IconButton icon={ZoomIn} label="Shorter span" onPress={() => scale(0.5)} />
        <IconButton icon={ZoomOut} label="Longer span" onPress={() => scale(2)} />
      </Group>
      <Keep {...props} />
    </Toolbar>
  );
}

/** A text that is a limit, such as `>24`; empty is none. */
function Compare({ request, onChange }: Pick<Props, "request" | "onChange">) {
  const { limit } = request;
  const [text, setText] = useState(limit === null ? "" : `${limit.comparison} ${limit.value}`);
  const isWrong = text.trim() !== "" && readLimit(text) === null;
  const take = (): void => {
    if (!isWrong) onChange({ limit: readLimit(text) });
  };
  return (
    <TextField
      className="react-aria-TextField time-short"
      value={text}
      isInvalid={isWrong}
      onChange={setText}
      onBlur={take}
      onKeyDown={(event) => {
        if (event.key === "Enter") take();
      }}
    >
      <Label>Since when</Label>
      <Input placeholder="> 24" />
      <FieldError>Write a comparison and a number, such as &gt; 24.</FieldError>
    </TextField>
  );
}

interface BetweenProps {
  range: Extract<Range, { kind: "between" }>;
  onChange: Props["onChange"];
}

function Between({ range, onChange }: BetweenProps) {
  const put = (part: { from?: number; to?: number }): void => {
    const next = { ...range, ...part };
    if (next.from < next.to) onChange({ range: next });
  };
  return (
    <>
      <MomentField label="From" value={range.from} onChange={(from) => put({ from })} />
      <MomentField label="To" value={range.to} onChange={(to) => put({ to })} />
    </>
  );
}

interface MomentProps {
  label: string;
  /** Milliseconds since 1970. */
  value: number;
  onChange(value: number): void;
}

/** A moment in the time of this place. */
export function MomentField({ label, value, onChange }: MomentProps) {
  const own = new Date(value - new Date(value).getTimezoneOffset() * 60_000);
  return (
    <TextField
      className="react-aria-TextField time-moment"
      value={own.toISOString().slice(0, 19)}
      onChange={(text) => {
        const read = new Date(text).getTime();
        if (!Number.isNaN(read)) onChange(read);
      }}
    >
      <Label>{label}</Label>
      <Input type="datetime-local" step={1} />
    </TextField>
  );
}

function Keep({ drawing, shown }: Props) {
  const { say, sayError } = useNotices();
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(window.location.href);
      say("The link to this chart is copied.");
    } catch (error) {
      sayError(error);
    }
  };
  const isEmpty = shown.length === 0;
  return (
    <Group aria-label="Keep and share" className="picture-group">
      <MenuTrigger>
        <Button className="button button-small" isDisabled={isEmpty}>
          <Download size={14} aria-hidden /> Save
        </Button>
        <Popover>
          <Menu
            aria-label="Save the chart"
            onAction={(key) => {
              if (key === "csv") saveSeries(shown);
              else if (drawing !== null) saveChart(drawing, shown).catch(sayError);
            }}
          >
            <MenuItem id="csv">Values (CSV)</MenuItem>
            <MenuItem id="png">As an image (PNG)</MenuItem>
          </Menu>
        </Popover>
      </MenuTrigger>
      <Button className="button button-small" isDisabled={isEmpty} onPress={() => void copy()}>
        <Link2 size={14} aria-hidden /> Link
      </Button>
    </Group>
  );
}
