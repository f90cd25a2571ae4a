import { CopyPlus, Share2, Trash2 } from "lucide-react";
import { useState } from "react";
import { Button } from "react-aria-components";
import { useLocation } from "wouter";

import type { Twin } from "../api/types";
import { routeOf } from "../app/addresses";
import { useIsNarrow } from "../app/media";
import { closeSheet } from "../app/sheet";
import { expand } from "../picture/actions";
import { pictureRows } from "../picture/fill";
import { usePicture } from "../picture/store";
import { renderLink } from "../query/share";
import { useQueries } from "../query/store";
import { useResults } from "../results/store";
import { useSession } from "../session/session";
import { DeleteTwin } from "./DeleteTwin";
import { openForm } from "./forms";
import { copyContents } from "./made";

/** What may be done with a twin beside editing it. */
export function TwinActions({ twin }: { twin: Twin }) {
  const { graph, graphId, may } = useSession();
  const [, navigate] = useLocation();
  const narrow = useIsNarrow();
  const [deleting, setDeleting] = useState(false);
  const show = async (): Promise<void> => {
    const { rows, query, set } = useResults.getState();
    set({ view: "graph" });
    if (!window.location.pathname.endsWith("/query")) {
      // The address of what is pictured: without it no link and no other moment would have all of it.
      const { text, parameters } = useQueries.getState();
      const isShown = query !== "" && text === query;
      const link = isShown ? renderLink({ text, parameters, view: "graph" }) : "";
      navigate(routeOf(graphId, "query") + link);
    }
    // First the rows, as a picture of other ones would begin anew without the twin.
    await pictureRows(graph, rows);
    const { add, choose } = usePicture.getState();
    add([twin], []);
    choose([twin.$dtId]);
    // On a phone the sheet would stand over the graph.
    if (narrow) closeSheet();
    await expand(graph, twin.$dtId);
  };
  const copy = (): void =>
    openForm({ kind: "twin", model: twin.$metadata.$model, contents: copyContents(twin) });
  return (
    <div className="inspector-header-actions">
      <Button className="button button-small" onPress={() => void show()}>
        <Share2 size={13} aria-hidden /> Show in graph
      </Button>
      {may("digitaltwins/write") && (
        <Button className="button button-small" onPress={copy}>
          <CopyPlus size={13} aria-hidden /> Copy
        </Button>
      )}
      {may("digitaltwins/delete") && (
        <Button className="button button-small button-danger" onPress={() => setDeleting(true)}>
          <Trash2 size={13} aria-hidden /> Delete
        </Button>
      )}
      {deleting && <DeleteTwin twin={twin} onClose={() => setDeleting(false)} />}
    </div>
  );
}
