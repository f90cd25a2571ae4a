import { useCallback } from "react";

import { useTwins } from "../maps/useTwins";
import { labelOf } from "../picture/model";

/** What these twins are called, by their ids: the id of one whose name is not known. */
export function useTwinNames(ids: readonly string[]): (id: string) => string {
  const { twins } = useTwins(ids);
  return useCallback((id: string) => labelOf(id, twins.get(id)), [twins]);
}
