import { useMemo } from "react";

import { showText } from "../../app/showText";
import { useModels } from "../../models/useModels";
import { describeRule, type Rule } from "../../picture/style";
import { RuleMark } from "../../picture/StyleRules";
import { useStyle } from "../../picture/styleStore";
import type { DrawnTwin } from "../useDrawn";

const MOST_MODELS = 12;

/** What the colours of a scene say: the rules by value, and the models of the other twins. */
export function SceneLegend({ drawn }: { drawn: ReadonlyMap<string, DrawnTwin> }) {
  const { index } = useModels();
  const rules = useStyle((state) => state.style.rules);
  const models = useMemo(() => listModels(drawn), [drawn]);
  const label = (model: string): string => index.label(model);
  if (models.length === 0 && rules.length === 0) return null;
  return (
    <details className="scene-legend" open>
      <summary>Legend</summary>
      <ul>
        {rules.map((rule: Rule, at) => (
          <li key={`${at} ${describeRule(rule, label)}`} className="picture-rule">
            <RuleMark rule={rule} />
            <span className="picture-tick-name">{describeRule(rule, label)}</span>
          </li>
        ))}
        {models.slice(0, MOST_MODELS).map(({ model, color, count }) => (
          <li key={`${model} ${color}`} className="picture-rule">
            <span className="models-dot" style={{ background: color }} aria-hidden />
            <span className="picture-tick-name">{model}</span>
            <span className="muted">{count.toLocaleString()}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}

/** The models whose twins have a colour of their model, by the number of these. */
function listModels(drawn: ReadonlyMap<string, DrawnTwin>) {
  const found = new Map<string, { model: string; color: string; count: number }>();
  for (const { model, color, modelColor, isGone } of drawn.values()) {
    if (isGone || model === "" || color !== modelColor) continue;
    const known = found.get(model);
    if (known === undefined) found.set(model, { model: showText(model), color, count: 1 });
    else known.count += 1;
  }
  return [...found.values()].sort((one, other) => other.count - one.count);
}
