import { RadioTower } from "lucide-react";
import { Button, Tooltip, TooltipTrigger } from "react-aria-components";

import "./live.css";
import { useLive } from "./store";
import type { LiveState } from "./stream";

const WORDS: Record<LiveState, string> = {
  off: "Changes are not followed.",
  connecting: "Connecting to the changes of the graph. What is shown may be old.",
  live: "Live: changes of the graph are shown as they happen.",
  refused: "Changes are not followed.",
};

/** Whether the page sees changes as they happen. */
export function LiveSign() {
  const { state, why } = useLive();
  const text = state === "refused" && why !== null ? why : WORDS[state];
  return (
    <TooltipTrigger delay={200}>
      <Button className="rail-item live-sign" data-live={state} aria-label={text}>
        <RadioTower size={20} aria-hidden />
        <span className="live-dot" />
      </Button>
      <Tooltip placement="right">{text}</Tooltip>
    </TooltipTrigger>
  );
}
