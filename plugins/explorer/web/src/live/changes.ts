import type { JsonObject } from "../api/types";

/** A CloudEvent of `/events`. */
export interface Change {
  id: string;
  type: string;
  source: string;
  subject: string;
  time: string;
  data: JsonObject;
}

export type Listener = (change: Change) => void;

/** The live stream of the graph that is looked at; one connection for the whole page. */
export interface Changes {
  /** Hear every change from now on; returns what ends it. */
  listen(listener: Listener): () => void;
  state: "off" | "connecting" | "live";
}
