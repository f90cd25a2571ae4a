import { useEffect, useEffectEvent, useState } from "react";

import { useNotices } from "../app/notices";
import { useFill } from "../picture/fill";
import { useResults } from "../results/store";
import { useSession } from "../session/session";
import { pageDifferences } from "./differences";
import { useMoment } from "./moment";

/** A step in which something changed is shown at least so long, in milliseconds. */
const SHOWN = 1200;

interface Asked {
  /** Where it ends, in milliseconds since 1970. */
  to: number;
  step: number;
  go(moment: number): void;
}

interface Play {
  isOn: boolean;
  /** Where it is, in milliseconds since 1970; null while it is off. */
  at: number | null;
  start(from: number): void;
  stop(): void;
}

/** Goes from moment to moment, and shows those at which something has changed. */
export function usePlay({ to, step, go }: Asked): Play {
  const { present } = useSession();
  const [at, setAt] = useState<number | null>(null);
  const isOn = at !== null;
  /** Shows the next step, and answers where it is then; null at the end. */
  const advance = useEffectEvent(
    async (from: number, signal: AbortSignal): Promise<number | null> => {
      const next = Math.min(to, from + step);
      const between = { from: Math.round(from), to: Math.round(next) };
      const { value } = await pageDifferences(present, between, "twins,relationships", 1, signal);
      if (signal.aborted) return null;
      if (value.length > 0) {
        go(between.to);
        useMoment.setState({ since: between.from });
        await pause(SHOWN);
        while (!signal.aborted && isBusy()) await pause(50);
      }
      if (next < to || signal.aborted) return next;
      useMoment.setState({ since: null });
      go(to);
      return null;
    },
  );
  useEffect(() => {
    if (at === null) return;
    const stopping = new AbortController();
    const play = async (): Promise<void> => {
      try {
        const next = await advance(at, stopping.signal);
        if (!stopping.signal.aborted) setAt(next);
      } catch (error) {
        if (stopping.signal.aborted) return;
        setAt(null);
        useNotices.getState().sayError(error);
      }
    };
    void play();
    return () => stopping.abort();
  }, [at]);
  return { isOn, at, start: setAt, stop: () => setAt(null) };
}

function isBusy(): boolean {
  return useResults.getState().activity !== "idle" || useFill.getState().busy !== null;
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
