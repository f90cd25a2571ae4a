import { RotateCcw, Users } from "lucide-react";
import { useState } from "react";
import { Button } from "react-aria-components";

import { ApiError } from "../api/errors";
import { MAY } from "../api/workspaces";
import { useNotices } from "../app/notices";
import { isUnchanged } from "../picture/styleLayers";
import { useStyle } from "../picture/styleStore";
import { useSession } from "../session/session";
import { shareStyle, useSharedStyle } from "./sharedStyle";
import { useOpened } from "./store";
import { useWorkspaces } from "./useWorkspaces";

/** Whose the style is that pictures are drawn by, and ways to keep it for everyone or to let it go. */
export function StyleSharing() {
  const { may } = useSession();
  const { client, refresh } = useWorkspaces();
  const { data, error } = useSharedStyle();
  const { style, own, isOfWorkspace } = useStyle();
  const opened = useOpened((state) => state.opened);
  const [busy, setBusy] = useState(false);
  const { say, sayError } = useNotices.getState();
  const changed = isOfWorkspace || !isUnchanged(own);
  const share = async (): Promise<void> => {
    setBusy(true);
    try {
      await shareStyle(client, style, data?.workspace ?? null);
      say("Everyone who opens this graph sees this style now.");
      await refresh();
      if (!isOfWorkspace) {
        useStyle.getState().share(style);
        useStyle.getState().reset();
      }
    } catch (refused) {
      const stale = refused instanceof ApiError && refused.isConflict;
      sayError(stale ? new Error(STALE) : refused);
      if (stale) await refresh();
    } finally {
      setBusy(false);
    }
  };
  if (!may(MAY.read)) return null;
  return (
    <section aria-label="Style" className="picture-sharing">
      <h3>Style</h3>
      <p className="muted">
        {isOfWorkspace
          ? `Of the workspace «${opened?.name ?? ""}».`
          : changed
            ? "Changed in this browser."
            : (data?.workspace ?? null) === null
              ? "As the models are."
              : "That for everyone."}
      </p>
      {error !== null && <p className="picture-sharing-error">{error.message}</p>}
      {changed && (
        <div className="picture-sharing-buttons">
          {may(MAY.write) && (
            <Button
              className="button button-small"
              isPending={busy}
              isDisabled={data === undefined}
              onPress={() => void share()}
            >
              <Users size={13} aria-hidden /> Use for everyone
            </Button>
          )}
          {!isOfWorkspace && (
            <Button className="button button-small" onPress={() => useStyle.getState().reset()}>
              <RotateCcw size={13} aria-hidden /> Reset mine
            </Button>
          )}
        </div>
      )}
    </section>
  );
}

const STALE =
  "Nothing was saved: somebody else has changed the style for everyone meanwhile. It is shown now, " +
  "below your changes. Look at it, then press again.";
