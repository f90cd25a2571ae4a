import { Link2, ListTree, Play, Square } from "lucide-react";
import { Button, Group, Toolbar } from "react-aria-components";

import { ROUTES_BASE, routeOf } from "../app/addresses";
import { useInspectorShown } from "../app/inspectorShown";
import { useIsNarrow } from "../app/media";
import { useNotices } from "../app/notices";
import { showText } from "../app/showText";
import { FindTwinButton } from "../inspector/FindTwinButton";
import { NewTwinButton } from "../inspector/NewTwinButton";
import { renderDifferences } from "../picture/address";
import { usePicture } from "../picture/store";
import { listDifferences } from "../picture/useAddress";
import { hidesAny } from "../picture/visible";
import { useResults } from "../results/store";
import { useSession } from "../session/session";
import { renderWorkspaceId } from "../workspaces/address";
import { isUnsaved, useOpened } from "../workspaces/store";
import { WorkspaceMenu } from "../workspaces/WorkspaceMenu";
import { QueryLibrary } from "./QueryLibrary";
import { cancelQuery } from "./run";
import type { Sample } from "./samples";
import { SaveQuery } from "./SaveQuery";
import { LONGEST_LINK, nameView, renderLink } from "./share";
import { useQueries } from "./store";
import { findKind } from "./tokens";

interface Props {
  onRun(): void;
  onExplain(): void;
  onProfile(): void;
  samples: Sample[];
}

const MODIFIER = /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘" : "Ctrl";

/** What one does with a query. */
export function QueryToolbar({ onRun, onExplain, onProfile, samples }: Props) {
  const empty = useQueries((state) => state.text.trim() === "");
  const reads = useQueries((state) => findKind(state.text) === "reads");
  const busy = useResults((state) => state.activity === "running");
  const inspectorShown = useInspectorShown();
  const narrow = useIsNarrow();
  // The inspector has the same buttons, but is no more than a sheet that comes up on a phone.
  const inspected = !narrow && inspectorShown;
  return (
    <Toolbar className="query-toolbar" aria-label="Query">
      <Group className="query-group" aria-label="Run">
        {busy ? (
          <Button className="button button-danger" onPress={cancelQuery}>
            <Square size={14} aria-hidden /> Cancel
          </Button>
        ) : (
          <Button className="button button-primary" onPress={onRun} isDisabled={empty}>
            <Play size={14} aria-hidden /> Run
            <kbd className="query-key">{MODIFIER} ↵</kbd>
          </Button>
        )}
        <Button
          className="button"
          aria-label="Explain"
          onPress={onExplain}
          isDisabled={empty || busy}
        >
          <ListTree size={14} aria-hidden /> <span className="query-wide">Explain</span>
        </Button>
        {!narrow && (
          <Button className="button" onPress={onProfile} isDisabled={empty || busy || !reads}>
            <ListTree size={14} aria-hidden /> Profile
          </Button>
        )}
      </Group>
      <Group className="query-group query-group-end" aria-label="Keep and share">
        {narrow && <FindTwinButton className="button" />}
        {!inspected && <NewTwinButton className="button query-new" />}
        <QueryLibrary samples={samples} onRun={onRun} />
        <SaveQuery />
        <Share isDisabled={empty} />
        <WorkspaceMenu />
      </Group>
    </Toolbar>
  );
}

function Share({ isDisabled }: { isDisabled: boolean }) {
  const { graphId } = useSession();
  const copy = async (): Promise<void> => {
    const { path, told } = buildLink();
    if (path.length > LONGEST_LINK) {
      useNotices.getState().sayError(new Error(explainLength(path.length)));
      return;
    }
    const address = window.location.origin + ROUTES_BASE + routeOf(graphId, "query") + path;
    try {
      await navigator.clipboard.writeText(address);
      useNotices.getState().say(told);
    } catch (error) {
      useNotices.getState().sayError(error);
    }
  };
  return (
    <Button
      className="button"
      aria-label="Copy link"
      onPress={() => void copy()}
      isDisabled={isDisabled}
    >
      <Link2 size={14} aria-hidden /> <span className="query-wide">Link</span>
    </Button>
  );
}

/** The address of what is seen, behind that of the view, and what of it is handed on. */
function buildLink(): { path: string; told: string } {
  const { text, parameters } = useQueries.getState();
  const { query, rows, view } = useResults.getState();
  const { contents, hiding, overlays } = usePicture.getState();
  const { opened, base } = useOpened.getState();
  if (opened !== null && text === (base?.draft?.text ?? base?.query)) {
    const told = `The link to the workspace «${showText(opened.name)}» is copied`;
    const path = renderWorkspaceId("", opened.id);
    return { path, told: isUnsaved() ? `${told}. It shows what was saved last.` : `${told}.` };
  }
  const link = renderLink({ text, parameters, view: view === "plan" ? view : nameView() });
  const isPicture = view === "graph" && text === query && rows.length > 0;
  if (!isPicture) return { path: link, told: "The link to this query is copied." };
  const found = overlays
    ? { fragment: link, isKept: false }
    : renderDifferences(link, listDifferences(rows, contents));
  const isWhole = found.isKept && !hidesAny(hiding);
  return {
    path: found.fragment,
    told: isWhole
      ? "The link to this picture is copied."
      : "The link to this query is copied. Keep the picture as a workspace to hand on all of it.",
  };
}

function explainLength(length: number): string {
  return (
    `No link is copied: query and parameters make one of ${length.toLocaleString()} characters, ` +
    `and ${LONGEST_LINK.toLocaleString()} are the most that are handed on everywhere. ` +
    "Hand on their text instead."
  );
}
