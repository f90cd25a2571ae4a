import { useMemo } from "react";

import { ListTable } from "../../picture/Lists";
import type { Visible } from "../../picture/visible";
import type { ModelIndex } from "../index";
import { useModelPicture } from "./board";
import { NAMES } from "./kinds";
import type { Tie } from "./ties";

interface Props {
  index: ModelIndex;
  ties: readonly Tie[];
  visible: Visible;
  onChoose(id: string): void;
}

/** The picture of models in words, with what has no edge in it. */
export function ModelLists({ index, ties, visible, onChoose }: Props) {
  const { chosen, hidden } = useModelPicture();
  const shown = useMemo(() => {
    return ties.filter(({ kind, source, target }) => {
      if (hidden.has(kind) || !visible.nodes.has(source)) return false;
      return target === null || !index.interfaces.has(target) || visible.nodes.has(target);
    });
  }, [ties, hidden, visible, index]);
  const models = [...visible.nodes].map((id) => ({
    id,
    label: index.label(id),
    from: shown.filter((tie) => tie.source === id).length,
    to: shown.filter((tie) => tie.target === id).length,
  }));
  const rows = shown.map(({ kind, source, target, name }, at) => ({
    id: String(at),
    source: index.label(source),
    kind: NAMES[kind],
    name,
    target: target === null ? "any model" : index.label(target),
  }));
  const choose = (id: string | undefined): void => {
    if (id !== undefined) onChoose(id);
  };
  return (
    <div className="picture-lists">
      <section aria-label="Models of the graph">
        <ListTable
          label="Models"
          columns={{ label: "Model", id: "DTMI", from: "Leads to", to: "Led to by" }}
          items={models}
          selected={chosen}
          onSelect={([id]) => choose(id)}
        />
      </section>
      <section aria-label="Ties of the graph">
        <ListTable
          label="Ties"
          columns={{ source: "From", kind: "By", name: "Name", target: "To" }}
          items={rows}
          onSelect={([at]) => choose(shown[Number(at)]?.source)}
        />
      </section>
    </div>
  );
}
