import { Pencil } from "lucide-react";
import { useMemo } from "react";
import { Button } from "react-aria-components";

import { readContent } from "../../api/workspaces";
import { Failure } from "../../app/Failure";
import { useSelection } from "../../app/selection";
import { ColorsButton } from "../ColorsButton";
import { KeptTools } from "../KeptTools";
import { KeptView } from "../KeptView";
import { TwinList } from "../TwinList";
import { useDrawn } from "../useDrawn";
import type { Kept } from "../useKept";
import { useLit, useTwins } from "../useTwins";
import { DrawSide, useLeft } from "./DrawSide";
import { NewPlan } from "./NewPlan";
import { readPlan, type Plan } from "./plan";
import { PlanConflict } from "./PlanConflict";
import "./plans.css";
import { PlanStage } from "./PlanStage";
import { useDraft } from "./useDraft";

/** Floor plans with the twins that were drawn on them, kept as workspaces of the graph. */
export default function PlansView() {
  return (
    <KeptView
      kind="plan"
      show="plans"
      thing="floor plan"
      about="A floor plan is a picture, such as a scan or an export of a drawing, on which twins are drawn as points and areas. Their colours follow their values."
      One={OnePlan}
      New={NewPlan}
    />
  );
}

function OnePlan({ kept, onNew }: { kept: Kept; onNew(): void }) {
  const draft = useDraft(kept);
  const { current } = kept;
  const read = useMemo((): { plan: Plan | null; error: unknown } => {
    if (current === undefined) return { plan: null, error: null };
    try {
      return { plan: readPlan(readContent(current, "plan")), error: null };
    } catch (error) {
      return { plan: null, error };
    }
  }, [current]);
  const plan = draft.plan ?? read.plan;
  const error = kept.error ?? read.error;
  return (
    <>
      <div className="maps-tools">
        {draft.plan === null ? (
          <>
            <KeptTools kept={kept} thing="floor plan" onNew={onNew} />
            {kept.mayWrite && current !== undefined && read.plan !== null && (
              <Button
                className="button button-small"
                onPress={() => read.plan && draft.begin(current, read.plan)}
              >
                <Pencil size={14} aria-hidden /> Draw twins
              </Button>
            )}
          </>
        ) : (
          <strong>{current?.name}</strong>
        )}
        <span className="maps-space" />
        <Colors plan={plan} />
      </div>
      {error !== null && (
        <Failure title="The floor plan cannot be shown" error={error} onRetry={kept.refresh} />
      )}
      {plan !== null && <Body plan={plan} name={current?.name ?? ""} draft={draft} />}
      <PlanConflict draft={draft} />
    </>
  );
}

function Colors({ plan }: { plan: Plan | null }) {
  const { twins } = useTwins(useIds(plan));
  return <ColorsButton twins={twins} />;
}

const NONE: readonly string[] = [];

function useIds(plan: Plan | null): readonly string[] {
  return useMemo(() => (plan === null ? NONE : [...plan.shapes.keys()].sort()), [plan]);
}

interface BodyProps {
  plan: Plan;
  name: string;
  draft: ReturnType<typeof useDraft>;
}

function Body({ plan, name, draft }: BodyProps) {
  const ids = useIds(plan);
  const { twins, isSettled, error } = useTwins(ids);
  const shown = useMemo(() => new Map(ids.map((id) => [id, twins.get(id) ?? null])), [ids, twins]);
  const drawn = useDrawn(shown, isSettled);
  const lit = useLit(drawn);
  const { selected, select } = useSelection();
  const current = selected?.kind === "twin" ? selected.id : null;
  const isDrawing = draft.plan !== null;
  const left = useLeft(draft.plan);
  const advance = (): void => {
    const at = left.findIndex((one) => one.id === draft.subject);
    draft.chooseSubject(left[at + 1]?.id ?? left.find((_, one) => one !== at)?.id ?? null);
  };
  return (
    <div className="maps-body">
      {isDrawing ? (
        <DrawSide draft={draft} plan={plan} left={left} selected={current} onDrawn={advance} />
      ) : (
        <TwinList
          label="Twins on the plan"
          twins={drawn.values()}
          describe={(id) => (plan.shapes.get(id)?.length === 1 ? "point" : "area")}
        />
      )}
      {error !== null && <Failure title="The twins cannot be read" error={error} />}
      <PlanStage
        name={name}
        plan={plan}
        drawn={drawn}
        selected={current}
        lit={lit}
        onSelect={(id) => select(id === null ? null : { kind: "twin", id })}
        drawing={
          isDrawing
            ? {
                tool: draft.subject === null ? null : draft.tool,
                corners: draft.corners,
                onCorner: (at, isLast) => {
                  if (draft.corner(at, isLast)) advance();
                },
                onBack: draft.back,
                onEnd: () => draft.chooseSubject(null),
                onMove: draft.put,
                onRemove: (id) => draft.put(id, null),
              }
            : null
        }
      />
    </div>
  );
}
