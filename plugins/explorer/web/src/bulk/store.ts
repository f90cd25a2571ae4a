import { create } from "zustand";

interface Bulk {
  /** The twins whose property is to be set at once; null while nobody asks for it. */
  ids: readonly string[] | null;
  /** Whether they are to be deleted instead. */
  deletes: boolean;
}

const NONE: Bulk = { ids: null, deletes: false };
export const useBulk = create<Bulk>(() => NONE);

export function openBulk(ids: readonly string[]): void {
  useBulk.setState({ ids: [...new Set(ids)], deletes: false });
}

export function closeBulk(): void {
  useBulk.setState(NONE);
}
