import type { DropItem } from "react-aria-components";

import type { Source } from "./upload";

/** What was given: models to be, and the names of what is none by its name. */
export interface Given {
  sources: Source[];
  left: string[];
}

/** The JSON files that were dropped, those of folders too, by name. */
export async function readDropped(items: readonly DropItem[]): Promise<Given> {
  const found: Source[] = [];
  const left: string[] = [];
  const visit = async (item: DropItem, folder: string): Promise<void> => {
    if (item.kind === "directory") {
      for await (const entry of item.getEntries()) await visit(entry, `${folder}${item.name}/`);
    } else if (item.kind === "file" && isJson(item.name)) {
      found.push({ name: folder + item.name, text: await item.getText() });
    } else if (item.kind === "file") left.push(folder + item.name);
  };
  for (const item of items) await visit(item, "");
  return { sources: sort(found), left: left.sort() };
}

/** The JSON files that were chosen. */
export async function readChosen(files: Iterable<File>): Promise<Given> {
  const nameIt = (file: File): string => file.webkitRelativePath || file.name;
  const all = [...files];
  const read = all
    .filter((file) => isJson(file.name))
    .map(async (file) => ({ name: nameIt(file), text: await file.text() }));
  const left = all.filter((file) => !isJson(file.name)).map(nameIt);
  return { sources: sort(await Promise.all(read)), left: left.sort() };
}

function isJson(name: string): boolean {
  return /\.(json|dtdl)$/i.test(name);
}

function sort(sources: Source[]): Source[] {
  return sources.sort((one, other) => (one.name < other.name ? -1 : 1));
}
