import { useEffect, useRef, type RefObject } from "react";

/**
 * What gets the focus when something has ended and the focus is nowhere, as what had it was
 * disabled meanwhile: no key would lead out of a dialog otherwise, not even Escape.
 */
export function useRefocus<T extends HTMLElement>(busy: boolean): RefObject<T | null> {
  const place = useRef<T>(null);
  const before = useRef(busy);
  useEffect(() => {
    const ended = before.current && !busy;
    before.current = busy;
    if (!ended) return;
    const { activeElement: now } = document;
    // NOTE: what is disabled keeps the focus until the browser draws next.
    const isLost = now === null || now === document.body || now.matches(":disabled");
    if (isLost) place.current?.focus();
  }, [busy]);
  return place;
}
