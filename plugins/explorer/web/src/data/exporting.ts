import { create } from "zustand";

import type { TransferClient } from "../api/transfer";
import { saveFile } from "../results/download";
import { buildGraphFile, checkGraphSize, readGraphLines } from "./graphFile";
import { LineCounter, type Counted } from "./lineCounter";

export interface Exporting {
  phase: "none" | "running" | "done" | "failed";
  bytes: number;
  counted: Counted;
  name: string;
  error: unknown;
}

export interface ExportChoice {
  /** `json` is that of the vendor's explorer: plain, without history, not compressed. */
  format: "ndjson" | "json";
  history: boolean;
  plain: boolean;
  gzip: boolean;
}

const NONE: Exporting = { phase: "none", bytes: 0, counted: {}, name: "", error: null };

/** It goes on while other views are shown. */
export const useExporting = create<Exporting>(() => NONE);

let controller: AbortController | null = null;
/** The page is told of progress so often, in milliseconds. */
const PAUSE = 200;
const TYPE = "application/x-ndjson";

/** Writes the graph to a file of the browser's, then has the browser save it. */
export async function exportGraph(
  client: TransferClient,
  graphName: string,
  choice: ExportChoice,
): Promise<void> {
  controller?.abort();
  const own = new AbortController();
  controller = own;
  const isDocument = choice.format === "json";
  const gzip = choice.gzip && !isDocument;
  const ending = isDocument ? ".json" : gzip ? ".ndjson.gz" : ".ndjson";
  const name = nameFile(graphName, ending, new Date());
  const set = (part: Partial<Exporting>): void => {
    if (controller === own) useExporting.setState(part);
  };
  set({ ...NONE, phase: "running", name });
  const counter = new LineCounter();
  try {
    const answer = await client.exportGraph(
      choice.history && !isDocument,
      choice.plain || isDocument,
      own.signal,
    );
    if (answer.body === null) throw new Error("The service has sent nothing.");
    const counted = answer.body.pipeThrough(
      countBytes(counter, () => {
        if (isDocument) checkGraphSize(counter.bytes);
        set({ bytes: counter.bytes, counted: { ...counter.counted } });
      }),
    );
    if (isDocument) {
      // PERF: it is held in memory, as no more than an import takes is.
      const file = buildGraphFile(readGraphLines(await readText(counted)));
      saveFile([file], name, "application/json");
    } else {
      const written: ReadableStream<Uint8Array<ArrayBuffer>> = gzip
        ? counted.pipeThrough(new CompressionStream("gzip"))
        : counted;
      const file = await keep(written, own.signal);
      saveFile([file], name, gzip ? "application/gzip" : TYPE);
    }
    set({ phase: "done", bytes: counter.bytes, counted: { ...counter.counted } });
  } catch (error) {
    if (own.signal.aborted) return;
    const cut = "The export broke off before its end, and nothing was saved. ";
    const why = error instanceof Error ? error.message : String(error);
    set({ phase: "failed", error: counter.bytes > 0 ? new Error(cut + why) : error });
  }
}

export function stopExport(): void {
  controller?.abort();
  controller = null;
  useExporting.setState(NONE);
}

/** The text of a stream. NOTE: `Response.text` would not say why the stream ended early. */
async function readText(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string> {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value;
  return text;
}

function countBytes(
  counter: LineCounter,
  onProgress: () => void,
): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let told = 0;
  return new TransformStream({
    transform(piece, passed) {
      counter.take(piece);
      const now = performance.now();
      if (now - told > PAUSE) {
        told = now;
        onProgress();
      }
      passed.enqueue(piece);
    },
  });
}

const SCRATCH = "twinframe-export";
/** The browser has copied what it saves by then, in milliseconds; the next export replaces it. */
const KEPT = 600_000;

/**
 * The stream as a file on the disk of the browser, so that no more than a piece is in memory. Where
 * a page may have no such files, as without TLS, it is a blob, which browsers keep as they like.
 */
async function keep(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  signal: AbortSignal,
): Promise<Blob> {
  const { storage } = navigator as { storage?: StorageManager };
  if (typeof storage?.getDirectory !== "function") {
    return new Response(stream).blob();
  }
  const folder = await storage.getDirectory();
  const handle = await folder.getFileHandle(SCRATCH, { create: true });
  await stream.pipeTo(await handle.createWritable(), { signal });
  setTimeout(() => void folder.removeEntry(SCRATCH).catch(() => undefined), KEPT);
  return handle.getFile();
}

function nameFile(graphName: string, ending: string, at: Date): string {
  const plain = graphName.replace(/[^\p{L}\p{N}.-]+/gu, "-").slice(0, 60) || "graph";
  return `${plain}-${at.toISOString().slice(0, 10)}${ending}`;
}
