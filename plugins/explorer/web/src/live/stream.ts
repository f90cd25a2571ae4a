import { EventSourceParserStream } from "eventsource-parser/stream";

import { ApiError } from "../api/errors";
import type { Http } from "../api/http";
import { parseJson } from "../api/json";
import type { Json } from "../api/types";

export type LiveState = "off" | "connecting" | "live" | "refused";

export interface Listener {
  onEvent(event: Json): void;
  /** Events were missed: whatever is shown may be old. */
  onGap(): void;
  /** `why` says it in words where the stream is refused. */
  onState(state: LiveState, why?: string): void;
}

const FIRST_WAIT = 500;
const LONGEST_WAIT = 30_000;

/**
 * Follows `/events` until the signal says so: resumed behind the last event after each cut, with
 * growing pauses while the service does not answer. It ends by itself where the service refuses.
 */
export async function follow(http: Http, listener: Listener, signal: AbortSignal): Promise<void> {
  let last: string | null = null;
  let wait = FIRST_WAIT;
  let cut = false;
  while (!signal.aborted) {
    listener.onState("connecting");
    try {
      const answer = await http.send("/events", {
        headers: {
          Accept: "text/event-stream",
          ...(last === null ? {} : { "Last-Event-ID": last }),
        },
        signal,
      });
      listener.onState("live");
      wait = FIRST_WAIT;
      // Without an event there was no place to go on from: nobody knows what was missed.
      if (cut && last === null) listener.onGap();
      cut = true;
      for await (const event of readEvents(answer)) {
        if (event.id !== undefined && event.id !== "") last = event.id;
        if (event.event === "gap") listener.onGap();
        else if (event.data !== "") listener.onEvent(parseJson(event.data));
      }
    } catch (error) {
      if (signal.aborted) return;
      // What was asked wrongly or is not allowed stays so; the rest may be better in a while.
      const refused = error instanceof ApiError && error.status >= 400 && error.status < 500;
      if (refused && error.status !== 429) {
        listener.onState("refused", error.message);
        return;
      }
    }
    await pause(wait * (0.75 + Math.random() / 2), signal);
    wait = Math.min(wait * 2, LONGEST_WAIT);
  }
}

interface ServerEvent {
  id?: string | undefined;
  event?: string | undefined;
  data: string;
}

async function* readEvents(answer: Response): AsyncGenerator<ServerEvent> {
  if (answer.body === null) return;
  const reader = answer.body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array<ArrayBuffer>>)
    .pipeThrough(new EventSourceParserStream())
    .getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", done);
  });
}
