import { Check } from "lucide-react";
import { useMemo, type ReactNode } from "react";
import { Button, Checkbox } from "react-aria-components";

import type { ModelIndex } from "../models/index";
import { StyleSharing } from "../workspaces/StyleSharing";
import { Facets } from "./Facets";
import { ModelIcon } from "./icons";
import type { Contents } from "./model";
import { usePicture } from "./store";
import { StyleOfModel, StyleOfRelationship } from "./StyleOf";
import { StyleRules } from "./StyleRules";
import { listLegend, type Visible } from "./visible";

interface Props {
  contents: Contents;
  visible: Visible;
  index: ModelIndex;
}

/** The models and relationships of the picture with their numbers and how they are drawn; what is unticked is hidden. */
export function Legend({ contents, visible, index }: Props) {
  const { models, names } = useMemo(() => listLegend(contents, visible), [contents, visible]);
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
        {models.map(({ id, count, shown }) => (
          <li key={id} className="picture-entry">
            <StyleOfModel
              id={id}
              index={index}
              swatch={
                <span className="picture-dot" style={{ background: index.color(id) }}>
                  <ModelIcon name={index.icon(id)} size={11} />
                </span>
              }
            />
            <Tick
              shown={!hiding.models.has(id)}
              name={id === "" ? "Not known" : index.label(id)}
              count={count}
              seen={shown}
              onToggle={() => toggle("models", id)}
              onOnly={() => only("models", id)}
            />
          </li>
        ))}
      </ul>
      {names.length > 0 && <h3>Relationships</h3>}
      <ul>
        {names.map(({ id, count, shown }) => (
          <li key={id} className="picture-entry">
            <StyleOfRelationship name={id} index={index} />
            <Tick
              shown={!hiding.names.has(id)}
              name={id}
              count={count}
              seen={shown}
              onToggle={() => toggle("names", id)}
              onOnly={() => only("names", id)}
            />
          </li>
        ))}
      </ul>
      <StyleRules contents={contents} index={index} />
      <StyleSharing />
      <Facets contents={contents} visible={visible} index={index} />
    </aside>
  );
}

interface TickProps {
  shown: boolean;
  name: string;
  count: number;
  /** How many of them are to be seen, where that is known. */
  seen?: number;
  onToggle(): void;
  onOnly(): void;
  children?: ReactNode;
}

/** What is shown or not, with its number. */
export function Tick({ shown, name, count, seen = count, onToggle, onOnly, children }: TickProps) {
  return (
    <div className="picture-tick">
      <Checkbox isSelected={shown} onChange={onToggle}>
        <span className="checkbox-box">
          <Check size={12} strokeWidth={3} aria-hidden />
        </span>
        {children}
        <span className="picture-tick-name">{name}</span>
        <span className="picture-tick-count">
          {seen !== count && `${seen.toLocaleString()} of `}
          {count.toLocaleString()}
        </span>
      </Checkbox>
      <Button className="picture-only" aria-label={`Only ${name}`} onPress={onOnly}>
        only
      </Button>
    </div>
  );
}
