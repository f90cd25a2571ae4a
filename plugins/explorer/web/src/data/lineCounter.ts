/** The lines of each section so far. */
export type Counted = Readonly<Record<string, number>>;

const LINE_END = 10;
/** The beginning of a line that is long enough to tell a section. */
const HEAD = 60;
/** A line that begins a section. */
export const SECTION = /^\{"Section":\s?"(\w+)"\}/;

/** Counts the lines of a graph's file by section, piece by piece. PERF: it decodes none of them. */
export class LineCounter {
  bytes = 0;
  readonly counted: Record<string, number> = {};
  private section = "";
  private head = "";
  private length = 0;

  take(piece: Uint8Array): void {
    this.bytes += piece.length;
    let start = 0;
    for (;;) {
      const end = piece.indexOf(LINE_END, start);
      const stop = end < 0 ? piece.length : end;
      this.length += stop - start;
      if (this.head.length < HEAD) {
        const some = piece.subarray(start, Math.min(stop, start + HEAD - this.head.length));
        this.head += String.fromCharCode(...some);
      }
      if (end < 0) return;
      this.endLine();
      start = end + 1;
    }
  }

  private endLine(): void {
    const found = SECTION.exec(this.head);
    if (found?.[1] !== undefined) this.section = found[1];
    else if (this.length > 0 && this.section !== "") {
      this.counted[this.section] = (this.counted[this.section] ?? 0) + 1;
    }
    [this.head, this.length] = ["", 0];
  }
}
