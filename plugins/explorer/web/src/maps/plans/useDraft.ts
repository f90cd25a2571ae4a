import { useState } from "react";

import { ApiError } from "../../api/errors";
import { readContent, type Workspace } from "../../api/workspaces";
import { useLeaveQuestion } from "../../inspector/Unsaved";
import type { Kept } from "../useKept";
import {
  finishShape,
  mergeShapes,
  readPlan,
  renderPlan,
  type At,
  type Merged,
  type Plan,
  type Shape,
  type Tool,
} from "./plan";

/** What is drawn and not saved yet, and what it was drawn on. */
interface Draft {
  base: Workspace;
  plan: Plan;
}

/** Theirs, which came between, with mine on top. */
export interface Conflict extends Merged {
  theirs: Workspace;
}

/** A floor plan that is being drawn; null plan where it is only looked at. */
export function useDraft(kept: Kept) {
  const [draft, setDraft] = useState<Draft | null>(null);
  const [tool, setTool] = useState<Tool | null>(null);
  const [subject, setSubject] = useState<string | null>(null);
  const [corners, setCorners] = useState<readonly At[]>([]);
  const [conflict, setConflict] = useState<Conflict | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  useLeaveQuestion(draft !== null);
  const end = (): void => {
    setDraft(null);
    setTool(null);
    setSubject(null);
    setCorners([]);
    setConflict(null);
    setError(null);
  };
  const put = (id: string, shape: Shape | null): void => {
    if (draft === null) return;
    const shapes = new Map(draft.plan.shapes);
    if (shape === null) shapes.delete(id);
    else shapes.set(id, shape);
    setDraft({ ...draft, plan: { ...draft.plan, shapes } });
  };
  const save = async (base: Workspace, plan: Plan): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const { id, name, etag } = base;
      kept.refresh(await kept.workspaces.replace(id, name, renderPlan(plan), etag));
      end();
    } catch (refused) {
      if (!(refused instanceof ApiError && refused.isConflict)) return setError(refused);
      try {
        const theirs = await kept.workspaces.read(base.id);
        const before = readPlan(readContent(base, "plan")).shapes;
        const after = readPlan(readContent(theirs, "plan")).shapes;
        setConflict({ theirs, ...mergeShapes(before, plan.shapes, after) });
      } catch (missing) {
        // It may be deleted, or be something else by now.
        setError(missing);
      }
    } finally {
      setBusy(false);
    }
  };
  return {
    plan: draft?.plan ?? null,
    tool,
    subject,
    corners,
    conflict,
    error,
    isBusy,
    begin: (base: Workspace, plan: Plan) => setDraft({ base, plan }),
    end,
    put,
    chooseTool: (chosen: Tool | null) => {
      setTool(chosen);
      setCorners([]);
    },
    /** Draw this twin next. */
    chooseSubject: (id: string | null) => {
      setSubject(id);
      setCorners([]);
    },
    back: () => setCorners(corners.slice(0, -1)),
    /** Sets a corner; returns whether the shape of the twin is drawn with it. */
    corner: (at: At, isLast: boolean): boolean => {
      if (tool === null || subject === null) return false;
      const last = corners.at(-1);
      const isAgain = last !== undefined && last[0] === at[0] && last[1] === at[1];
      const all = isAgain ? corners : [...corners, at];
      const shape = finishShape(tool, all, isLast || isAgain);
      if (shape === null) setCorners(all);
      else {
        put(subject, shape);
        setCorners([]);
      }
      return shape !== null;
    },
    /** Draws the area of the corners so far; returns whether there are enough. */
    finish: (): boolean => {
      if (tool === null || subject === null) return false;
      const shape = finishShape(tool, corners, true);
      if (shape === null) return false;
      put(subject, shape);
      setCorners([]);
      return true;
    },
    save: () => (draft === null ? Promise.resolve() : save(draft.base, draft.plan)),
    saveOnTop: () =>
      conflict === null || draft === null
        ? Promise.resolve()
        : save(conflict.theirs, { ...draft.plan, shapes: conflict.shapes }),
    takeTheirs: () => {
      if (conflict !== null) kept.refresh(conflict.theirs);
      end();
    },
    keepDrawing: () => setConflict(null),
  };
}

export type Drafting = ReturnType<typeof useDraft>;
