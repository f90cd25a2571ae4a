import { useSession } from "../session/session";

/** Whether one may look for twins: they are asked for by queries, and shown by themselves. */
export function useMayFind(): boolean {
  const { may } = useSession();
  return may("query/read") && may("digitaltwins/read");
}
