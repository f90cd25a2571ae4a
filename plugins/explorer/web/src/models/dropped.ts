import type { DropItem } from "react-aria-components";

import type { Source } from "./upload";

/** The JSON files that were dropped, those of folders too, by name. */
export async function readDropped(items: readonly DropItem[]): Promise<Source[]> {
  const found: Source[] = [];
  const visit = async (item: DropItem, folder: string): Promise<void> => {
    if (item.kind === "directory") {
      for await (const entry of item.getEntries()) await visit(entry, `${folder}${item.name}/`);
    } else if (item.kind === "file" && isJson(item.name)) {
      found.push({ name: folder + item.name, text: await item.getText() });
    }
  };
  for (const item of items) await visit(item, "");
  return sort(found);
}

/** The JSON files that were chosen. */
export async function readChosen(files: Iterable<File>): Promise<Source[]> {
  const read = [...files]
    .filter((file) => isJson(file.name))
    .map(async (file) => ({ name: file.webkitRelativePath || file.name, text: await file.text() }));
  return sort(await Promise.all(read));
}

function isJson(name: string): boolean {
  return /\.(json|dtdl)$/i.test(name);
}

function sort(sources: Source[]): Source[] {
  return sources.sort((one, other) => (one.name < other.name ? -1 : 1));
}
