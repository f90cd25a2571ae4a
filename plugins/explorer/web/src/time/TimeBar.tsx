import { History, Undo2 } from "lucide-react";
import { Suspense } from "react";
import { Button, ToggleButton } from "react-aria-components";

import { latePart } from "../app/parts";
import { usePicture } from "../picture/store";
import "./timeBar.css";
import { useMoment } from "./moment";

// PERF: whoever looks at now needs none of it.
const TimeControls = latePart(() => import("./TimeControls"));

interface Props {
  /** Whether another moment can be chosen here. */
  isMovable: boolean;
  /** Whether it is that within a picture which has the whole window. */
  isWhole?: boolean;
}

/**
 * Says that an earlier moment is shown, with the way back to now; and where it is open, what a
 * moment is chosen with.
 */
export function TimeBar({ isMovable, isWhole = false }: Props) {
  const { asOf, isOpen, show } = useMoment();
  const hasWindow = usePicture((state) => state.whole);
  if (isWhole !== hasWindow) return null;
  if (asOf === null && !(isOpen && isMovable)) return null;
  return (
    <section className="time-bar" aria-label="Time">
      {asOf !== null && (
        <div className="time-past" role="status">
          <History size={16} aria-hidden />
          <span>
            <strong>As of {writeExactly(asOf)}.</strong> Nothing can be changed here.
          </span>
          <Button className="button button-small" onPress={() => show(null)}>
            <Undo2 size={14} aria-hidden /> Back to now
          </Button>
        </div>
      )}
      {isMovable && (
        <Suspense>
          <TimeControls />
        </Suspense>
      )}
    </section>
  );
}

function writeExactly(moment: number): string {
  return new Date(moment).toLocaleString([], { dateStyle: "medium", timeStyle: "medium" });
}

/** Opens the bar with which a moment is chosen, or closes it. */
export function TimeToggle() {
  const { isOpen, asOf } = useMoment();
  return (
    <ToggleButton
      className="button button-small"
      isSelected={isOpen || asOf !== null}
      isDisabled={asOf !== null}
      onChange={(isOpen) => useMoment.setState({ isOpen, ...(isOpen ? {} : { since: null }) })}
    >
      <History size={14} aria-hidden /> <span className="results-word">Time</span>
    </ToggleButton>
  );
}
