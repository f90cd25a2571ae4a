import { renderJson } from "../api/json";
import type { Json, JsonObject } from "../api/types";
import { ColumnScan, nameApart, valueAt, type Column } from "./columns";
import { isObject, isRelationship, isTwin } from "./documents";

export interface CsvOptions {
  /** Members of twins, relationships and maps as columns of their own. */
  spread: boolean;
  /** Put a quote in front of texts that a spreadsheet would run as a formula. */
  guard: boolean;
}

const END = "\r\n";

/**
 * Rows to CSV (RFC 4180), page by page. A column that turns up late stands at the right, and the
 * lines before it are filled up, so that every line has as many fields.
 */
export class CsvWriter {
  private readonly scan: ColumnScan;
  private readonly order: Column[] = [];
  private readonly known = new Set<string>();
  private readonly pages: { lines: string[]; width: number }[] = [];

  constructor(private readonly options: CsvOptions) {
    this.scan = new ColumnScan(options.spread);
  }

  add(rows: readonly JsonObject[]): void {
    this.scan.add(rows);
    for (const column of this.scan.columns()) {
      if (this.known.has(column.id)) continue;
      this.known.add(column.id);
      this.order.push(column);
    }
    const lines = rows.map((row) =>
      this.order
        .map((column) => this.field(fieldValue(row, column, this.options.spread)))
        .join(","),
    );
    this.pages.push({ lines, width: this.order.length });
  }

  /** The parts of the file, in order. */
  parts(): string[] {
    const names = nameApart(this.order).map((column) => this.field(column.name));
    const header = names.join(",") + END;
    const pages = this.pages.map(({ lines, width }) => {
      const missing = ",".repeat(this.order.length - width);
      return lines.map((line) => line + missing + END).join("");
    });
    return [header, ...pages];
  }

  private field(value: Json | undefined): string {
    if (value === null || value === undefined) return "";
    if (typeof value === "object") return quote(renderJson(value));
    if (typeof value !== "string") return renderJson(value);
    return quote(this.options.guard ? guard(value) : value);
  }
}

/** Where a value is spread over columns, the column of it as a whole is for what has no members. */
function fieldValue(row: JsonObject, { path }: Column, spread: boolean): Json | undefined {
  const value = valueAt(row, path);
  const isSpread = spread && path.length === 1 && isObject(value) && !isDocument(row);
  return isSpread ? undefined : value;
}

function isDocument(row: JsonObject): boolean {
  return isTwin(row) || isRelationship(row);
}

function quote(text: string): string {
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// SEC: spreadsheets run what begins so as a formula (CSV injection, as OWASP tells of it).
function guard(text: string): string {
  return /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}
