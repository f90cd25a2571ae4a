import { Suspense, useEffect } from "react";

import { latePart } from "../app/parts";
import { closeForm, useForms } from "./forms";

// PERF: the forms come with the inspector, which has the same fields: no view waits for them.
const NewTwin = latePart(() =>
  import("./Inspector").then((loaded) => ({ default: loaded.NewTwin })),
);
const CreateRelationship = latePart(() =>
  import("./Inspector").then((loaded) => ({ default: loaded.CreateRelationship })),
);

/** The form that is open, above all views. */
export function Forms() {
  const open = useForms((state) => state.open);
  // Of another graph it would be another form.
  useEffect(() => closeForm, []);
  if (open === null) return null;
  return (
    <Suspense>
      {open.kind === "twin" ? (
        <NewTwin {...open} onClose={closeForm} />
      ) : (
        <CreateRelationship sourceId={open.sourceId} onClose={closeForm} />
      )}
    </Suspense>
  );
}
