import { create } from "zustand";

/** The twins whose property is to be set at once; null while nobody asks for it. */
export const useBulk = create<{ ids: readonly string[] | null }>(() => ({ ids: null }));

export function openBulk(ids: readonly string[]): void {
  useBulk.setState({ ids: [...new Set(ids)] });
}

export function closeBulk(): void {
  useBulk.setState({ ids: null });
}
