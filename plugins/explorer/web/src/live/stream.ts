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
 * growing pauses while the service does not answer. It ends by itself where the service refuses. A
 * connection that nothing comes from for `patience` milliseconds is taken for cut.
 */
export async function follow(
  http: Http,
  listener: Listener,
  signal: AbortSignal,
  patience: number,
): Promise<void> {
  let last: string | null = null;
  let wait = FIRST_WAIT;
  let cut = false;
  while (!signal.aborted) {
    listener.onState("connecting");
    // NOTE: where the other end has gone without a word (a sleeping machine, a router that forgot),
    // nobody tells: only that its heartbeats do not come.
    const watch = new Watch(patience, signal);
    try {
      const answer = await http.send("/events", {
        headers: {
          Accept: "text/event-stream",
          ...(last === null ? {} : { "Last-Event-ID": last }),
        },
        signal: watch.signal,
      });
      listener.onState("live");
      wait = FIRST_WAIT;
      // Without an event there was no place to go on from: nobody knows what was missed.
      if (cut && last === null) listener.onGap();
      cut = true;
      for await (const event of readEvents(answer, watch)) {
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
    } finally {
      watch.end();
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

/** Aborts a connection that is silent for too long, or when the signal of all of them says so. */
class Watch {
  private readonly connection = new AbortController();
  private readonly abort = (): void => this.connection.abort();
  private timer: ReturnType<typeof setTimeout>;

  constructor(
    private readonly patience: number,
    private readonly outer: AbortSignal,
  ) {
    outer.addEventListener("abort", this.abort);
    this.timer = setTimeout(this.abort, patience);
  }

  get signal(): AbortSignal {
    return this.connection.signal;
  }

  /** Something has come. */
  hear(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(this.abort, this.patience);
  }

  end(): void {
    clearTimeout(this.timer);
    this.outer.removeEventListener("abort", this.abort);
  }
}

async function* readEvents(answer: Response, watch: Watch): AsyncGenerator<ServerEvent> {
  if (answer.body === null) return;
  const heard = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform: (part, next) => {
      watch.hear();
      next.enqueue(part);
    },
  });
  const reader = answer.body
    .pipeThrough(heard)
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

const pausing = new Set<() => void>();

/** Have streams that wait connect now. */
export function wakeStreams(): void {
  for (const done of [...pausing]) done();
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      pausing.delete(done);
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", done);
    pausing.add(done);
  });
}
