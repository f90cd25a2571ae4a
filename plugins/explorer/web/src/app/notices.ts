import { UNSTABLE_ToastQueue as ToastQueue } from "react-aria-components";
import { create } from "zustand";

import { showText } from "./showText";

export interface Notice {
  kind: "info" | "error";
  text: string;
  action?: Action;
}

/** What can be done about what a notice says. */
export interface Action {
  name: string;
  act(): void;
}

/**
 * How long a notice that is no error stays, in milliseconds; errors stay until they are closed or
 * another view is shown.
 */
const STAY = 6000;

/** The notices to see, which `NoticeRegion` shows. */
export const noticeQueue = new ToastQueue<Notice>({ maxVisibleToasts: 4 });

/** Close the errors that are told. */
export function closeErrors(): void {
  for (const { key, content } of [...noticeQueue.visibleToasts]) {
    if (content.kind === "error") noticeQueue.close(key);
  }
}

interface Notices {
  say(text: string, action?: Action): void;
  /** Tell of an error; an abort is none. */
  sayError(error: unknown): void;
}

/** What is told at the edge of the page, to screen readers too. */
export const useNotices = create<Notices>(() => ({
  say: (text, action) => {
    const told = { kind: "info", text: showText(text) } as const;
    noticeQueue.add(action === undefined ? told : { ...told, action }, { timeout: STAY });
  },
  sayError: (error) => {
    if (error instanceof DOMException && error.name === "AbortError") return;
    const text = showText(error instanceof Error ? error.message : String(error));
    // The same again would only hide what else there is to see.
    if (noticeQueue.visibleToasts.some((one) => one.content.text === text)) return;
    noticeQueue.add({ kind: "error", text });
  },
}));
