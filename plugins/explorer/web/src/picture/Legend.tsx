import { Check } from "lucide-react";
import { useMemo, type ReactNode } from "react";
import { Button, Checkbox } from "react-aria-components";

import type { ModelIndex } from "../models/index";
import { ModelIcon } from "./icons";
import type { Contents } from "./model";
import { usePicture } from "./store";
import { listLegend } from "./visible";

/** The models and relationships of the picture with their numbers; what is unticked is hidden. */
export function Legend({ contents, index }: { contents: Contents; index: ModelIndex }) {
  const { models, names } = useMemo(() => listLegend(contents), [contents]);
  const { hiding, hide } = usePicture();
  const toggle = (of: "models" | "names", id: string): void => {
    const next = new Set(hiding[of]);
    if (!next.delete(id)) next.add(id);
    hide(of === "models" ? { models: next } : { names: next });
  };
  const only = (of: "models" | "names", id: string): void => {
    const all = (of === "models" ? models : names).map((one) => one.id);
    const alone = all.every((one) => hiding[of].has(one) === (one !== id));
    const next = new Set(alone ? [] : all.filter((one) => one !== id));
    hide(of === "models" ? { models: next } : { names: next });
  };
  return (
    <aside className="picture-legend" aria-label="Legend">
      <h3>Models</h3>
      <ul>
        {models.map(({ id, count }) => (
          <li key={id}>
            <Tick
              shown={!hiding.models.has(id)}
              name={id === "" ? "Not known" : index.label(id)}
              count={count}
              onToggle={() => toggle("models", id)}
              onOnly={() => only("models", id)}
            >
              <span className="picture-dot" style={{ background: index.color(id) }}>
                <ModelIcon name={index.icon(id)} size={11} />
              </span>
            </Tick>
          </li>
        ))}
      </ul>
      {names.length > 0 && <h3>Relationships</h3>}
      <ul>
        {names.map(({ id, count }) => (
          <li key={id}>
            <Tick
              shown={!hiding.names.has(id)}
              name={id}
              count={count}
              onToggle={() => toggle("names", id)}
              onOnly={() => only("names", id)}
            />
          </li>
        ))}
      </ul>
    </aside>
  );
}

interface TickProps {
  shown: boolean;
  name: string;
  count: number;
  onToggle(): void;
  onOnly(): void;
  children?: ReactNode;
}

/** What is shown or not, with its number. */
export function Tick({ shown, name, count, onToggle, onOnly, children }: TickProps) {
  return (
    <div className="picture-tick">
      <Checkbox isSelected={shown} onChange={onToggle}>
        <span className="checkbox-box">
          <Check size={12} strokeWidth={3} aria-hidden />
        </span>
        {children}
        <span className="picture-tick-name">{name}</span>
        <span className="picture-tick-count">{count.toLocaleString()}</span>
      </Checkbox>
      <Button className="picture-only" aria-label={`Only ${name}`} onPress={onOnly}>
        only
      </Button>
    </div>
  );
}
