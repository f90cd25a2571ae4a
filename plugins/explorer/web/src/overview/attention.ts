import type { GraphClient } from "../api/graph";
import type { Json, JsonObject } from "../api/types";
import type { Counts } from "../models/counts";
import type { ModelIndex } from "../models/index";
import { quoteName, quoteText } from "../query/names";
import { isObject } from "../results/documents";

/** Something that somebody should look at. */
export interface Concern {
  id: string;
  text: string;
  /** What shows it: a query, or a model. */
  shows: { query: string } | { model: string } | null;
}

/** Twins of models of more than this are not counted by their values: it would be a long scan. */
const MOST_TWINS = 20_000;
/** At most so many properties are asked. */
const MOST_PROPERTIES = 6;
const BAD = /^(?:fault|faulty|alarm|error|critical|failed|failure|down|offline)$/i;
const ALARM = /alarm|fault|failure|leak/i;

/** What the models and the counts that the service keeps say by themselves. */
export function findConcerns(index: ModelIndex, counts: Counts | null): Concern[] {
  if (counts === null) return [];
  const found: Concern[] = [];
  for (const one of index.interfaces.values()) {
    const twins = counts.own(one.id);
    if (!one.decommissioned || twins === 0) continue;
    found.push({
      id: `decommissioned ${one.id}`,
      text: `${tellTwins(twins)} of ${one.displayName}, which is decommissioned`,
      shows: { model: one.id },
    });
  }
  for (const id of counts.ids) {
    if (index.interfaces.has(id)) continue;
    found.push({
      id: `missing ${id}`,
      text: `${tellTwins(counts.own(id))} of ${index.label(id)}, a model that is not stored`,
      shows: { query: `MATCH (n)\nWHERE n.$metadata.$model = '${id}'\nRETURN n\nLIMIT 100` },
    });
  }
  return found;
}

/** A question about values, and what it asks for. */
interface Question {
  id: string;
  /** After `MATCH (n…) WHERE …`; the count of its rows is asked. */
  match: string;
  /** What is asked, without an answer. */
  title: string;
  tell(twins: number): string;
}

/** What may be asked of a graph of this size. */
export function listQuestions(index: ModelIndex, counts: Counts): Question[] {
  const questions: Question[] = [];
  for (const one of index.interfaces.values()) {
    const twins = counts.family(one.id);
    if (twins === 0 || twins > MOST_TWINS) continue;
    for (const property of one.own) {
      if (property.kind !== "Property") continue;
      const values = listBadValues(property.name, property.schema);
      if (values.length === 0) continue;
      const bad = values.map((value) => value.replaceAll("'", "")).join(" or ");
      const is = values.map((value) => `n.${quoteName(property.name)} = ${value}`).join(" OR ");
      questions.push({
        id: `${one.id} ${property.name}`,
        match: `MATCH (n:${quoteName(index.queryLabel(one.id))})\nWHERE ${is}`,
        title: `${one.displayName}: ${property.name} ${bad}`,
        tell: (count) => `${tellTwins(count)} of ${one.displayName} with ${property.name} ${bad}`,
      });
    }
  }
  if (counts.total > 0 && counts.total <= MOST_TWINS) {
    questions.push({
      id: "alone",
      match: "MATCH (n)\nWHERE NOT EXISTS { (n)--() }",
      title: "Without relationships",
      tell: (count) => `${tellTwins(count)} without relationships`,
    });
  }
  return questions.slice(-MOST_PROPERTIES - 1);
}

/** The values of a property that say that something is wrong, as Cypher. */
function listBadValues(name: string, schema: Json | undefined): string[] {
  if (schema === "boolean") return ALARM.test(name) ? ["true"] : [];
  if (!isObject(schema) || !Array.isArray(schema["enumValues"])) return [];
  return schema["enumValues"].flatMap((one) => {
    if (!isObject(one) || !BAD.test(String(one["name"]))) return [];
    const value = one["enumValue"];
    if (typeof value === "string") return [quoteText(value)];
    return typeof value === "number" ? [String(value)] : [];
  });
}

/** The answers to these questions that are not none. */
export async function askConcerns(
  graph: GraphClient,
  questions: readonly Question[],
  signal: AbortSignal,
): Promise<Concern[]> {
  const asked = questions.map(async ({ id, match, tell }): Promise<Concern[]> => {
    const { value } = await graph.query(`${match}\nRETURN count(*) AS twins`, { signal });
    const twins = Number(value[0]?.["twins"] ?? 0);
    const query = `${match}\nRETURN n\nLIMIT 100`;
    return twins === 0 ? [] : [{ id, text: tell(twins), shows: { query } }];
  });
  return (await Promise.all(asked)).flat();
}

/** The derivations that cannot compute a value, of the first page of them. */
export async function readDerivations(graph: GraphClient, signal: AbortSignal): Promise<Concern[]> {
  const page: { value: JsonObject[] } = await graph.http.json("/derivations", { signal });
  return page.value.flatMap((one) => {
    const [id, errors, halted] = [String(one["id"]), Number(one["errors"] ?? 0), one["halted"]];
    if (typeof halted === "string") {
      return [{ id, text: `The derivation ${id} is halted: ${halted}`, shows: null }];
    }
    if (errors === 0) return [];
    const last = isObject(one["lastError"]) ? `: ${String(one["lastError"]["message"])}` : "";
    const text = `The derivation ${id} could not compute ${errors.toLocaleString()} values${last}`;
    return [{ id, text, shows: null }];
  });
}

function tellTwins(count: number): string {
  return count === 1 ? "1 twin" : `${count.toLocaleString()} twins`;
}
