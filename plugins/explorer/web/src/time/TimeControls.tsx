import { useQuery } from "@tanstack/react-query";
import { Pause, Play, StepBack, StepForward } from "lucide-react";
import { useState } from "react";
import { Group, Slider, SliderThumb, SliderTrack, ToggleButton } from "react-aria-components";

import { ApiError } from "../api/errors";
import { Choice } from "../control/Choice";
import { Failure } from "../app/Failure";
import { IconButton } from "../picture/IconButton";
import { useSession } from "../session/session";
import { findBeginning } from "./beginning";
import { ChangeList } from "./ChangeList";
import { MomentField } from "./ChartToolbar";
import { useMoment } from "./moment";
import { readStep } from "./request";
import { usePlay } from "./usePlay";

const SPANS = [
  { id: "15m", name: "15 minutes" },
  { id: "1h", name: "Hour" },
  { id: "6h", name: "6 hours" },
  { id: "24h", name: "24 hours" },
  { id: "7d", name: "7 days" },
  { id: "30d", name: "30 days" },
];
/** So many steps the slider and its buttons have. */
const STEPS = 120;

/** Chooses the moment that is shown, plays what changed, and tells changes apart. */
export default function TimeControls() {
  const { present, graphId, asOf } = useSession();
  const { since, show } = useMoment();
  const [span, setSpan] = useState("24h");
  const { data, error } = useQuery({
    queryKey: ["beginning", graphId, span],
    queryFn: async ({ signal }) => {
      const now = Date.now();
      const from = now - (readStep(span) ?? 0);
      return { from: await findBeginning(present, from, now, signal), to: now };
    },
    retry: false,
    placeholderData: (before) => before,
  });
  const [from, to] = [data?.from ?? 0, data?.to ?? 0];
  const step = Math.max(1, (to - from) / STEPS);
  // Beyond its right end it is now, which goes on.
  const go = (moment: number): void => {
    show(moment >= to ? null : Math.max(from, Math.round(moment)));
  };
  const play = usePlay({ to, step, go });
  if (error instanceof ApiError && error.status === 501) {
    return <p className="muted">This graph keeps no history, so only now can be shown.</p>;
  }
  if (error !== null) return <Failure title="The history cannot be read" error={error} />;
  if (data === undefined) return null;
  return (
    <>
      <Group aria-label="Moment" className="time-controls">
        <IconButton
          icon={play.isOn ? Pause : Play}
          label={play.isOn ? "Stop playing" : "Play the changes"}
          onPress={() => (play.isOn ? play.stop() : play.start(asOf ?? from))}
        />
        <IconButton icon={StepBack} label="Earlier" onPress={() => go((asOf ?? to) - step)} />
        <MomentSlider {...{ from, to, step }} value={play.at ?? asOf ?? to} onChange={go} />
        <IconButton icon={StepForward} label="Later" onPress={() => go((asOf ?? to) + step)} />
        <Choice label="Span" options={SPANS} value={span} onChange={setSpan} />
        <MomentField
          label="Moment"
          value={asOf ?? to}
          onChange={(moment) => show(moment >= Date.now() ? null : moment)}
        />
        <ToggleButton
          className="button"
          isSelected={since !== null}
          onChange={(isSelected) => {
            const earlier = (asOf ?? to) - (to - from) / 8;
            useMoment.setState({ since: isSelected ? Math.round(earlier) : null });
          }}
        >
          What changed
        </ToggleButton>
        {since !== null && !play.isOn && (
          <MomentField
            label="Since"
            value={since}
            onChange={(moment) => {
              if (moment < (asOf ?? Date.now())) useMoment.setState({ since: moment });
            }}
          />
        )}
      </Group>
      {since !== null && <ChangeList />}
    </>
  );
}

interface SliderProps {
  from: number;
  to: number;
  step: number;
  value: number;
  onChange(moment: number): void;
}

/** PERF: while it is dragged nothing is asked; the moment is where it is let go. */
function MomentSlider({ from, to, step, value, onChange }: SliderProps) {
  const [held, setHeld] = useState<number | null>(null);
  const shown = Math.min(to, Math.max(from, held ?? value));
  return (
    <Slider
      aria-label="Moment that is shown"
      className="time-slider"
      minValue={0}
      maxValue={Math.max(1, Math.round((to - from) / step))}
      step={1}
      value={Math.round((shown - from) / step)}
      onChange={(at) => setHeld(from + at * step)}
      onChangeEnd={(at) => {
        setHeld(null);
        onChange(from + at * step);
      }}
    >
      <SliderTrack className="time-track">
        <SliderThumb className="time-thumb" />
      </SliderTrack>
      <span className="time-ends muted">
        <span>{writeShort(from)}</span>
        <strong>{shown >= to ? "Now" : writeShort(shown)}</strong>
        <span>Now</span>
      </span>
    </Slider>
  );
}

function writeShort(moment: number): string {
  return new Date(moment).toLocaleString([], { dateStyle: "short", timeStyle: "medium" });
}
