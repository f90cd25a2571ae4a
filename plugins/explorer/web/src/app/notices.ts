import { create } from "zustand";

export interface Notice {
  id: number;
  kind: "info" | "error";
  text: string;
}

interface NoticeState {
  notices: Notice[];
  say(text: string): void;
  /** Tell of an error; an abort is none. */
  sayError(error: unknown): void;
  dismiss(id: number): void;
}

let last = 0;

/** What is told at the edge of the page, to screen readers too. */
export const useNotices = create<NoticeState>((set) => {
  const add = (kind: Notice["kind"], text: string) =>
    set((state) => ({ notices: [...state.notices.slice(-4), { id: ++last, kind, text }] }));
  return {
    notices: [],
    say: (text) => add("info", text),
    sayError: (error) => {
      if (error instanceof DOMException && error.name === "AbortError") return;
      add("error", error instanceof Error ? error.message : String(error));
    },
    dismiss: (id) => set((state) => ({ notices: state.notices.filter((one) => one.id !== id) })),
  };
});
