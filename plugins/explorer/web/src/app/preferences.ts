import { create } from "zustand";
import { persist } from "zustand/middleware";

import { useMedia } from "./media";

export type Theme = "system" | "light" | "dark";

interface Preferences {
  theme: Theme;
  inspectorOpen: boolean;
  /** Whether the tree of locations is beside the view; null where nobody has said. */
  locationsOpen: boolean | null;
  /** Whether the first steps are shown on the start. */
  guideOpen: boolean;
  setTheme(theme: Theme): void;
  setInspectorOpen(open: boolean): void;
  setLocationsOpen(open: boolean): void;
  setGuideOpen(open: boolean): void;
}

/** What this browser remembers of how somebody likes the page. */
export const usePreferences = create<Preferences>()(
  persist(
    (set) => ({
      theme: "system",
      inspectorOpen: true,
      locationsOpen: null,
      guideOpen: true,
      setTheme: (theme) => set({ theme }),
      setInspectorOpen: (inspectorOpen) => set({ inspectorOpen }),
      setLocationsOpen: (locationsOpen) => set({ locationsOpen }),
      setGuideOpen: (guideOpen) => set({ guideOpen }),
    }),
    { name: "twinframe-explorer-preferences", version: 1 },
  ),
);

/** Whether the tree of locations is beside the view: where there is room, unless somebody chose. */
export function useLocationsOpen(): boolean {
  const isWide = useMedia("(min-width: 1400px)");
  return usePreferences((state) => state.locationsOpen) ?? isWide;
}

/** Have the page wear the theme that was chosen, now and whenever another one is. */
export function wearTheme(): void {
  const wear = ({ theme }: Preferences): void => {
    if (theme === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
  };
  wear(usePreferences.getState());
  usePreferences.subscribe(wear);
}
