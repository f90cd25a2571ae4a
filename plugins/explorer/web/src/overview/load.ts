import { ApiError } from "../api/errors";
import type { GraphClient } from "../api/graph";
import { parseJson } from "../api/json";
import type { Json, JsonObject } from "../api/types";
import { isObject } from "../results/documents";

/** A line that was not taken, and why. */
export interface Refused {
  line: number;
  why: string;
}

export interface Progress {
  models: number;
  twins: number;
  relationships: number;
  refused: Refused[];
  /** How many were refused: `refused` has the first of them. */
  refusals: number;
  /** Lines of sections that only the service itself takes, such as the history. */
  left: number;
}

/** So many documents, or characters, are sent at once. */
const MOST_ITEMS = 500;
const MOST_LENGTH = 2_000_000;
const MOST_TOLD = 20;

interface Line {
  line: number;
  document: JsonObject;
  length: number;
}

/**
 * Writes a graph in the form of import jobs (NDJSON in sections): models together, then twins, then
 * relationships, in lots. What a lot has stored stays. Throws for a file that is none, and for
 * models that are refused.
 */
export async function loadGraph(
  graph: GraphClient,
  text: ReadableStream<string>,
  known: ReadonlySet<string>,
  onProgress: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<Progress> {
  const loader = new Loader(graph, known, onProgress, signal);
  let line = 0;
  for await (const written of readLines(text)) {
    line += 1;
    signal.throwIfAborted();
    if (written.trim() !== "") await loader.take(line, written);
  }
  return loader.finish();
}

/** The text of a file, unpacked where it is gzip. */
export function readText(file: File): ReadableStream<string> {
  const bytes = file.stream() as ReadableStream<Uint8Array<ArrayBuffer>>;
  const plain = file.name.endsWith(".gz")
    ? bytes.pipeThrough(new DecompressionStream("gzip"))
    : bytes;
  return plain.pipeThrough(new TextDecoderStream());
}

async function* readLines(text: ReadableStream<string>): AsyncGenerator<string> {
  const reader = text.getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
    }
    yield rest;
  } finally {
    await reader.cancel();
  }
}

const SECTIONS: readonly string[] = ["Header", "Models", "Twins", "Relationships"];

class Loader {
  private section = "";
  private lot: Line[] = [];
  private length = 0;
  private readonly progress: Progress = {
    models: 0,
    twins: 0,
    relationships: 0,
    refused: [],
    refusals: 0,
    left: 0,
  };

  constructor(
    private readonly graph: GraphClient,
    private readonly known: ReadonlySet<string>,
    private readonly onProgress: (progress: Progress) => void,
    private readonly signal: AbortSignal,
  ) {}

  async take(line: number, text: string): Promise<void> {
    let document: Json;
    try {
      document = parseJson(text);
    } catch (error) {
      throw new Error(`Line ${line} is no JSON: ${(error as Error).message}`, { cause: error });
    }
    if (!isObject(document)) throw new Error(`Line ${line} is no JSON object.`);
    const section = document["Section"];
    if (typeof section === "string") {
      await this.send();
      this.section = section;
      return;
    }
    if (this.section === "") {
      throw new Error(
        'This is no graph: its first line is not {"Section": "Header"}, as that of an export is.',
      );
    }
    if (this.section === "Header") return;
    if (!SECTIONS.includes(this.section)) {
      this.progress.left += 1;
      return;
    }
    this.lot.push({ line, document, length: text.length });
    this.length += text.length;
    const isFull = this.lot.length >= MOST_ITEMS || this.length >= MOST_LENGTH;
    // Models need each other: they are sent together.
    if (isFull && this.section !== "Models") await this.send();
  }

  async finish(): Promise<Progress> {
    await this.send();
    if (this.section === "") throw new Error("This file is empty.");
    return this.progress;
  }

  private async send(): Promise<void> {
    const { lot } = this;
    [this.lot, this.length] = [[], 0];
    if (lot.length === 0) return;
    if (this.section === "Models") await this.sendModels(lot);
    else if (this.section === "Twins") {
      this.progress.twins += await this.sendLot("/digitaltwins", lot);
    } else {
      const named = lot.map((one) => ({ ...one, document: nameSource(one.document) }));
      this.progress.relationships += await this.sendLot("/relationships", named);
    }
    this.onProgress({ ...this.progress });
  }

  private async sendModels(lot: readonly Line[]): Promise<void> {
    const fresh = lot.map((one) => one.document).filter((one) => !this.isKnown(one));
    if (fresh.length > 0) await this.graph.createModels(fresh);
    this.progress.models += fresh.length;
  }

  private isKnown(document: JsonObject): boolean {
    return this.known.has(String(document["@id"]));
  }

  /** How many of a lot were stored. */
  private async sendLot(path: string, lot: readonly Line[]): Promise<number> {
    const answer: { successCount: number; results: JsonObject[] } = await this.graph.http.json(
      path,
      { method: "POST", body: lot.map((one) => one.document), signal: this.signal },
    );
    answer.results.forEach((result, at) => {
      if (result["isSuccess"] === true) return;
      this.progress.refusals += 1;
      if (this.progress.refused.length >= MOST_TOLD) return;
      this.progress.refused.push({ line: lot[at]?.line ?? 0, why: tellWhy(result) });
    });
    return answer.successCount;
  }
}

/** Files call the source of a relationship `$dtId`; single writes have it in their path. */
function nameSource({ $dtId, ...rest }: JsonObject): JsonObject {
  return $dtId === undefined ? rest : { $sourceId: $dtId, ...rest };
}

function tellWhy(result: JsonObject): string {
  const { error } = result;
  const details = isObject(error) && Array.isArray(error["details"]) ? error["details"] : [];
  const [first] = details;
  const said = isObject(first) && typeof first["message"] === "string" ? first["message"] : null;
  return said ?? String(result["errorMessage"] ?? "It was refused.");
}

/** The sample campus as the service brings it. Throws `ApiError`. */
export async function fetchSample(address: string): Promise<ReadableStream<string>> {
  const answer = await fetch(address);
  if (!answer.ok || answer.body === null) {
    throw new ApiError(answer.status, "", "The service does not bring the sample.");
  }
  return answer.body.pipeThrough(new TextDecoderStream());
}
