import { useNotices } from "../app/notices";
import { readLayoutDocument } from "./document";
import type { Painter } from "./Painter";
import { usePicture, type Place } from "./store";

/** Lets the user choose a picture that was saved as data, and takes places and pins from it. */
export function loadLayout(painter: Painter): void {
  const input = document.createElement("input");
  input.type = "file";
  input.accept = ".json,application/json";
  input.addEventListener("change", () => {
    const [file] = input.files ?? [];
    if (file === undefined) return;
    takeLayout(painter, file).catch((error: unknown) => useNotices.getState().sayError(error));
  });
  input.click();
}

async function takeLayout(painter: Painter, file: File): Promise<void> {
  const found = readLayoutDocument(await file.text(), file.name);
  const { contents, pin } = usePicture.getState();
  const here = found.filter(({ id }) => contents.nodes.has(id));
  if (here.length === 0) {
    throw new Error(
      `None of the ${found.length.toLocaleString()} twins of ${file.name} is in the picture. ` +
        "Run the query first that it was saved with.",
    );
  }
  painter.move(new Map<string, Place>(here.map(({ id, x, y }) => [id, { x, y }])), true);
  for (const pinned of [true, false]) {
    const ids = here.filter((one) => one.pinned === pinned).map(({ id }) => id);
    pin(ids, pinned);
  }
  painter.fit();
  const others = contents.nodes.size - here.length;
  useNotices
    .getState()
    .say(
      `${here.length.toLocaleString()} twins stand where ${file.name} has them` +
        (others > 0 ? `; it does not name the ${others.toLocaleString()} others.` : "."),
    );
}
