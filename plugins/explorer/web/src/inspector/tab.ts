import { create } from "zustand";

/** The tab of the inspector that was chosen last: it stays while one walks from twin to twin. */
export const useInspectorTab = create<{ tab: string }>(() => ({ tab: "properties" }));
