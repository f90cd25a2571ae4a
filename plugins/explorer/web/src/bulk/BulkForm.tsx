import { Suspense, useEffect } from "react";

import { latePart } from "../app/parts";
import { closeBulk, useBulk } from "./store";

// PERF: few set many at once.
const BulkEdit = latePart(() => import("./BulkEdit"));

/** The form that sets a property of several twins, while it is open. */
export function BulkForm() {
  const ids = useBulk((state) => state.ids);
  // Of another graph they would be other twins.
  useEffect(() => closeBulk, []);
  if (ids === null) return null;
  return (
    <Suspense>
      <BulkEdit ids={ids} onClose={closeBulk} />
    </Suspense>
  );
}
