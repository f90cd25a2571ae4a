import { Suspense, useEffect } from "react";

import { latePart } from "../app/parts";
import { closeBulk, useBulk } from "./store";

// PERF: few set many at once.
const BulkEdit = latePart(() => import("./BulkEdit"));
const BulkDelete = latePart(() => import("./BulkDelete"));

/** The form that sets a property of several twins, or deletes them, while it is open. */
export function BulkForm() {
  const { ids, deletes } = useBulk();
  const Shown = deletes ? BulkDelete : BulkEdit;
  // Of another graph they would be other twins.
  useEffect(() => closeBulk, []);
  if (ids === null) return null;
  return (
    <Suspense>
      <Shown ids={ids} onClose={closeBulk} />
    </Suspense>
  );
}
