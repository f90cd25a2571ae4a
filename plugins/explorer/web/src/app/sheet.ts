import { useCallback, useEffect, useRef, useState, type RefObject } from "react";
import { create } from "zustand";

import { useSelection } from "./selection";

/**
 * Which sheet is up on a phone with nothing selected: the inspector, so that a twin can be found,
 * or the locations.
 */
export const useSheet = create<{ finding: boolean; locating: boolean }>(() => ({
  finding: false,
  locating: false,
}));

export function openFinder(): void {
  useSheet.setState({ finding: true });
}

/** On a phone what is selected and the sheet that shows it are one: they go together. */
export function closeSheet(): void {
  useSheet.setState({ finding: false, locating: false });
  useSelection.getState().select(null);
}

/**
 * An element whose contents, rendered by a portal, keep their state while it goes from one place of
 * the page to another: each place takes it with its ref.
 */
export function useMovable(className: string): [HTMLElement, (place: HTMLElement | null) => void] {
  const [element] = useState(() => {
    const made = document.createElement("div");
    made.className = className;
    return made;
  });
  return [element, useCallback((place) => place?.append(element), [element])];
}

/** Moves the focus into a sheet that comes up, and back when it goes; the ref is for its content. */
export function useSheetFocus(isUp: boolean): RefObject<HTMLDivElement | null> {
  const content = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    // Somebody who writes into a form above it goes on writing.
    if (!isUp || before?.closest('[role$="dialog"]')) return;
    content.current?.focus();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, [isUp]);
  return content;
}
