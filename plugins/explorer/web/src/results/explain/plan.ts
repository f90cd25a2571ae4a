import type { Explanation, JsonObject, PlanOperator, PushedPart } from "../../api/types";

/** An operator of a plan and those that feed it. */
export interface PlanNode {
  operator: string;
  /** Each line of what it is told. */
  arguments: string[];
  /** The index of the part that runs it; null where the evaluator does. */
  part: number | null;
  /** What it did in the run, such as `12 rows · 0.3 ms`, and what is to be known of that. */
  figures?: string;
  note?: string;
  children: PlanNode[];
}

/** A plan that was asked for, with the text of the query. */
export interface Explained {
  query: string;
  /** The plan as indented text, as the service gives it. */
  text: string;
  pushed: PushedPart[];
  root: PlanNode;
  milliseconds: number;
  /** What the run did, and by which engine; nothing where there was none. */
  run?: string;
  /** Whether it is of a statement that writes: its steps follow each other. */
  steps?: boolean;
}

/** Whether a row is the one that EXPLAIN or PROFILE answers. */
export function isExplanation(row: JsonObject | undefined): row is Explanation {
  return (
    row !== undefined &&
    typeof row["plan"] === "string" &&
    Array.isArray(row["pushed"]) &&
    Array.isArray(row["operators"])
  );
}

/** The plan of an explanation. Its operators come flat; a plan whose root is missing is empty. */
export function readExplained(row: Explanation, query: string, milliseconds: number): Explained {
  const { plan: text, pushed, operators, engine, rows } = row;
  const explained = { query, text, pushed, root: readTree(operators), milliseconds };
  if (engine === undefined || rows === undefined) return explained;
  return { ...explained, run: `${renderFigures(rows, row.milliseconds)} by ${engine}` };
}

/** The steps of a statement that writes, each after the one before; null where the rows are none. */
export function readSteps(
  rows: readonly JsonObject[],
  query: string,
  milliseconds: number,
): Explained | null {
  const steps = rows.map(({ step, plan }) => ({ step: String(step), plan: String(plan ?? "") }));
  if (rows.length === 0 || rows.some(({ step }) => typeof step !== "string")) return null;
  const text = steps.map(({ step, plan }) => `${step}\n${plan.replace(/^/gm, "  ")}`).join("\n");
  const root = steps.reduce<PlanNode | null>(
    (before, { step, plan }) => ({
      operator: step,
      arguments: plan === "" ? [] : plan.split("\n"),
      part: null,
      children: before === null ? [] : [before],
    }),
    null,
  );
  return root && { query, text, pushed: [], root, milliseconds, steps: true };
}

function renderFigures(rows: number | null, milliseconds: number | null = null): string {
  const count =
    rows === null ? "? rows" : `${rows.toLocaleString("en")} ${rows === 1 ? "row" : "rows"}`;
  if (milliseconds === null) return count;
  return `${count} · ${milliseconds.toLocaleString("en", { maximumSignificantDigits: 3 })} ms`;
}

/** The tree of a flat list. An operator stands in it once, whatever the list says. */
export function readTree(operators: readonly PlanOperator[]): PlanNode {
  const nodes = operators.map((one): PlanNode => ({
    operator: one.operator,
    arguments: one.arguments === "" ? [] : one.arguments.split("\n"),
    part: one.part,
    ...(one.rows === undefined ? {} : { figures: renderFigures(one.rows, one.milliseconds) }),
    ...(one.note == null ? {} : { note: one.note }),
    children: [],
  }));
  const placed = new Set([0]);
  operators.forEach((one, index) => {
    for (const child of one.children) {
      const node = nodes[child];
      if (node === undefined || placed.has(child)) continue;
      placed.add(child);
      nodes[index]?.children.push(node);
    }
  });
  return nodes[0] ?? { operator: "Result", arguments: [], part: null, children: [] };
}

/** Every operator, each before those that feed it. */
export function listOperators(root: PlanNode): PlanNode[] {
  const found: PlanNode[] = [];
  const pending = [root];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    found.push(node);
    pending.push(...node.children.toReversed());
  }
  return found;
}

/** Lines of at most `width` characters, broken at blanks and commas where there are some. */
export function wrap(text: string, width: number, limit: number): string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > width && lines.length < limit - 1) {
    const at = Math.max(rest.lastIndexOf(" ", width), rest.lastIndexOf(",", width - 1) + 1);
    const cut = at > width / 3 ? at : width;
    lines.push(rest.slice(0, cut).trimEnd());
    rest = rest.slice(cut).trimStart();
  }
  lines.push(rest.length > width ? `${rest.slice(0, width - 1)}…` : rest);
  return lines;
}
