const listeners = new Set<() => void>();

/** Hear of calls that nobody has answered. */
export function onSilence(listener: () => void): void {
  listeners.add(listener);
}

/** Say that a call had no answer. */
export function reportSilence(): void {
  for (const listener of listeners) listener();
}
