/** What the view is at: `platform`, `organization:acme`, `project:campus`, `resource:campus/tower`. */
export type Place =
  | { type: "platform" }
  | { type: "organization"; id: string }
  | { type: "project"; id: string }
  | { type: "resource"; projectId: string; id: string };

/** A place as it stands in the URL. */
export function renderPlace(place: Place): string {
  if (place.type === "platform") return place.type;
  return place.type === "resource"
    ? `resource:${place.projectId}/${place.id}`
    : `${place.type}:${place.id}`;
}

/** The place that a text names; null where it names none. */
export function parsePlace(text: string | null): Place | null {
  if (text === "platform") return { type: text };
  const [, type, first, second] = /^(\w+):([^/]+)(?:\/([^/]+))?$/.exec(text ?? "") ?? [];
  if (first === undefined) return null;
  if (type === "resource" && second !== undefined) {
    return { type, projectId: first, id: second };
  }
  if ((type === "organization" || type === "project") && second === undefined) {
    return { type, id: first };
  }
  return null;
}

/** An id that the service takes, made of a name: lower-case letters, digits and hyphens. */
export function suggestId(name: string): string {
  return name
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 63)
    .replace(/^-+|-+$/g, "");
}
