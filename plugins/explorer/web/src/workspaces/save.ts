import { ApiError } from "../api/errors";
import type { Workspace, Workspaces } from "../api/workspaces";
import { capturePicture } from "./capture";
import { renderPicture, type PictureContent } from "./content";
import { keepSaved, useOpened } from "./store";

/** What is saved here would take the place of what somebody else has saved meanwhile. */
export interface SaveConflict {
  mine: PictureContent;
  /** The workspace as it was here. */
  before: Workspace;
  /** As it is now; null where it was deleted. */
  theirs: Workspace | null;
}

/** Saves the open workspace; answers what is in the way, where somebody else has changed it. */
export async function saveOpened(
  client: Workspaces,
  graphId: string,
): Promise<SaveConflict | null> {
  const { opened } = useOpened.getState();
  if (opened === null) return null;
  const mine = capturePicture();
  try {
    const saved = await client.replace(opened.id, opened.name, renderPicture(mine), opened.etag);
    keepSaved(saved, mine, graphId);
    return null;
  } catch (error) {
    if (!(error instanceof ApiError && error.isConflict)) throw error;
    return { mine, before: opened, theirs: await client.find(opened.id) };
  }
}

/**
 * Puts mine in the place of theirs, of the very version that was shown: what a third one has saved
 * since then is another conflict.
 */
export async function replaceTheirs(
  client: Workspaces,
  graphId: string,
  { mine, before, theirs }: SaveConflict,
): Promise<SaveConflict | null> {
  const content = renderPicture(mine);
  try {
    const saved =
      theirs === null
        ? await client.createAs(before.id, before.name, content)
        : await client.replace(theirs.id, theirs.name, content, theirs.etag);
    keepSaved(saved, mine, graphId);
    return null;
  } catch (error) {
    if (!(error instanceof ApiError && error.isConflict)) throw error;
    return { mine, before, theirs: await client.find(before.id) };
  }
}
