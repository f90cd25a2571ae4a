import { Link2, ListTree, Play, Square } from "lucide-react";
import { Button, Group, Toolbar } from "react-aria-components";

import { ROUTES_BASE, routeOf } from "../app/addresses";
import { useInspectorShown } from "../app/inspectorShown";
import { useIsNarrow } from "../app/media";
import { useNotices } from "../app/notices";
import { FindTwinButton } from "../inspector/FindTwinButton";
import { NewTwinButton } from "../inspector/NewTwinButton";
import { useResults } from "../results/store";
import { useSession } from "../session/session";
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
    const { text, parameters } = useQueries.getState();
    const { view } = useResults.getState();
    const link = renderLink({ text, parameters, view: view === "plan" ? view : nameView() });
    if (link.length > LONGEST_LINK) {
      useNotices.getState().sayError(new Error(explainLength(link.length)));
      return;
    }
    const address = window.location.origin + ROUTES_BASE + routeOf(graphId, "query") + link;
    try {
      await navigator.clipboard.writeText(address);
      useNotices.getState().say("The link to this query is copied.");
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

function explainLength(length: number): string {
  return (
    `No link is copied: query and parameters make one of ${length.toLocaleString()} characters, ` +
    `and ${LONGEST_LINK.toLocaleString()} are the most that are handed on everywhere. ` +
    "Hand on their text instead."
  );
}
