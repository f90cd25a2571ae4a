import { renderJson } from "../api/json";
import type { JsonObject, QueryPage } from "../api/types";
import { CsvWriter, type CsvOptions } from "./csv";

/** Gives the page behind a token. */
export type PageSource = (token: string) => Promise<Pick<QueryPage, "value" | "continuationToken">>;

export interface ExportOptions extends CsvOptions {
  format: "csv" | "json";
  /** Also the pages that were not fetched yet. */
  all: boolean;
}

export interface Progress {
  rows: number;
  done: boolean;
}

/** The parts of a file of the rows at hand and, when asked for, of all pages behind them. */
export async function writeExport(
  rows: readonly JsonObject[],
  token: string | null,
  next: PageSource,
  options: ExportOptions,
  onProgress: (progress: Progress) => void,
): Promise<string[]> {
  const writer = options.format === "csv" ? new CsvWriter(options) : new JsonWriter();
  writer.add(rows);
  let written = rows.length;
  let behind = options.all ? token : null;
  while (behind !== null) {
    onProgress({ rows: written, done: false });
    const page = await next(behind);
    writer.add(page.value);
    written += page.value.length;
    behind = page.continuationToken;
  }
  onProgress({ rows: written, done: true });
  return writer.parts();
}

/** Rows to one JSON array, a row a line. */
class JsonWriter {
  private readonly pages: string[] = [];

  add(rows: readonly JsonObject[]): void {
    if (rows.length > 0) this.pages.push(rows.map((row) => renderJson(row)).join(",\n"));
  }

  parts(): string[] {
    return [
      "[\n",
      ...this.pages.flatMap((page, at) => (at === 0 ? [page] : [",\n", page])),
      "\n]\n",
    ];
  }
}
