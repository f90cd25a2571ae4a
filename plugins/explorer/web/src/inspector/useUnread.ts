import { useCallback, useState } from "react";

/** Which fields have a value that is none of their schemas, by their pointers. */
export function useUnread() {
  const [unread, set] = useState<ReadonlySet<string>>(new Set());
  const setUnread = useCallback((pointer: string, is: boolean): void => {
    set((before) => {
      if (before.has(pointer) === is) return before;
      const after = new Set(before);
      if (is) after.add(pointer);
      else after.delete(pointer);
      return after;
    });
  }, []);
  return { unread: unread.size, setUnread };
}
