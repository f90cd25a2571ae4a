import { create } from "zustand";
import { persist } from "zustand/middleware";

export type Theme = "system" | "light" | "dark";

interface Preferences {
  theme: Theme;
  inspectorOpen: boolean;
  /** Whether the first steps are shown on the start. */
  guideOpen: boolean;
  setTheme(theme: Theme): void;
  setInspectorOpen(open: boolean): void;
  setGuideOpen(open: boolean): void;
}

/** What this browser remembers of how somebody likes the page. */
export const usePreferences = create<Preferences>()(
  persist(
    (set) => ({
      theme: "system",
      inspectorOpen: true,
      guideOpen: true,
      setTheme: (theme) => set({ theme }),
      setInspectorOpen: (inspectorOpen) => set({ inspectorOpen }),
      setGuideOpen: (guideOpen) => set({ guideOpen }),
    }),
    { name: "twinframe-explorer-preferences", version: 1 },
  ),
);

/** Have the page wear the theme that was chosen, now and whenever another one is. */
export function wearTheme(): void {
  const wear = ({ theme }: Preferences): void => {
    if (theme === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
  };
  wear(usePreferences.getState());
  usePreferences.subscribe(wear);
}
