import { Button } from "react-aria-components";

import { renderJson } from "../api/json";
import { useNotices } from "../app/notices";
import { buildPatch, editable } from "./document";
import { useDrafts, type Draft } from "./drafts";

/** What was edited of a thing that is no more: to be copied, or to be given up. */
export function LostDraft({ of }: { of: string }) {
  const draft = useDrafts((state) => state.drafts.get(of));
  const { say, sayError } = useNotices();
  if (draft === undefined) return null;
  const text = describe(draft);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      say("The changes are copied.");
    } catch (refused) {
      sayError(refused);
    }
  };
  return (
    <section className="inspector-lost" aria-label="Unsaved changes">
      <p>What you changed of it was not saved and has no place any more:</p>
      <pre>{text}</pre>
      <div className="inspector-lost-actions">
        <Button className="button button-small" onPress={() => void copy()}>
          Copy
        </Button>
        <Button className="button button-small" onPress={() => useDrafts.getState().drop(of)}>
          Discard
        </Button>
      </div>
    </section>
  );
}

/** The patch, and what was no value yet. */
function describe({ base, draft, texts }: Draft): string {
  const patch = buildPatch(editable(base), draft).map((one) => renderJson(one));
  const written = [...texts].map(([pointer, { text }]) => `${pointer} ${text}`.trim());
  return [...patch, ...written].join("\n");
}
