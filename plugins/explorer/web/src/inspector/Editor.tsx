import {
  useCallback,
  useEffect,
  useMemo,
  useState,
  type KeyboardEvent,
  type ReactNode,
} from "react";
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components";

import type { Json, JsonObject } from "../api/types";
import { ConflictDialog } from "./ConflictDialog";
import { editable, writeAt } from "./document";
import { useDrafts } from "./drafts";
import { EditingContext, type Editing } from "./editing";
import { JsonTab } from "./JsonTab";
import { SaveBar } from "./SaveBar";
import { readFindings, useSave, type Access } from "./useSave";
import { useInspectorTab } from "./tab";
import { useUnread } from "./useUnread";

const NO_TEXTS: Editing["texts"] = new Map();

/** Enter alone saves where it does nothing else: in a field of one line, or a text of one. */
function savesByEnter(event: KeyboardEvent): boolean {
  const { target } = event;
  if (event.key !== "Enter" || event.shiftKey || event.altKey || event.defaultPrevented)
    return false;
  if (target instanceof HTMLInputElement) return target.role !== "combobox";
  return target instanceof HTMLTextAreaElement && !target.value.includes("\n");
}

interface Props {
  document: JsonObject;
  access: Access;
  readOnly: boolean;
  lit: ReadonlySet<string> | undefined;
  /** What is said of the document, for screen readers. */
  label: string;
  /** The fields; they edit through the context. */
  children: ReactNode;
  /** Further tabs. */
  tabs?: { id: string; name: string; content: ReactNode }[];
}

/** A document as fields and as JSON, whose edits are kept until they are saved or given up. */
export function Editor({ document, access, readOnly, lit, label, children, tabs = [] }: Props) {
  const { key } = access;
  const kept = useDrafts((state) => state.drafts.get(key));
  const { unread, setUnread } = useUnread();
  const [settling, setSettling] = useState(false);
  const { save, busy: saving, error, forget } = useSave(access);
  // Whoever looks at something else and comes back finds it still under way.
  const busy = saving || (kept?.sent ?? null) !== null;

  // What came in while there is a draft goes under it.
  useEffect(() => useDrafts.getState().take(key, document), [key, document]);

  const replace = useCallback(
    (draft: JsonObject, completes: string) =>
      useDrafts.getState().edit(key, document, draft, completes),
    [key, document],
  );
  const editing: Editing = useMemo(() => {
    const stored = editable(kept?.base ?? document);
    const value = kept?.draft ?? stored;
    return {
      value,
      stored,
      readOnly,
      findings: readFindings(error),
      lit,
      set: (pointer: string, one: Json | undefined) => {
        const now = useDrafts.getState().drafts.get(key);
        const on = now?.texts.get(pointer)?.draft ?? now?.draft ?? stored;
        replace(writeAt(on, pointer, one), pointer);
      },
      texts: kept?.texts ?? NO_TEXTS,
      setText: (pointer: string, text: string | null) =>
        useDrafts.getState().write(key, document, pointer, text),
      forgetTexts: (pointer: string) => useDrafts.getState().forget(key, pointer),
      setUnread,
    };
  }, [kept, document, readOnly, error, lit, key, replace, setUnread]);

  const { tab } = useInspectorTab();
  const shown = ["json", ...tabs.map((one) => one.id)].includes(tab) ? tab : "properties";
  const blocked = unread + (kept?.texts.size ?? 0);
  const run = async (): Promise<void> => {
    if (blocked > 0 || busy) return;
    setSettling((await save()).length > 0);
  };
  return (
    <EditingContext value={editing}>
      {/* eslint-disable-next-line jsx-a11y/no-static-element-interactions -- keys of its fields */}
      <div
        className="inspector-editor"
        onKeyDown={(event) => {
          const isCommand = event.ctrlKey || event.metaKey;
          if (!(isCommand ? ["Enter", "s"].includes(event.key) : savesByEnter(event))) return;
          event.preventDefault();
          if (kept !== undefined) void run();
        }}
      >
        <Tabs
          className="react-aria-Tabs inspector-tabs"
          selectedKey={shown}
          onSelectionChange={(key) => useInspectorTab.setState({ tab: String(key) })}
        >
          <TabList
            aria-label={`Views of ${label}`}
            className="react-aria-TabList inspector-tablist"
          >
            <Tab id="properties">Properties</Tab>
            {tabs.map((one) => (
              <Tab key={one.id} id={one.id}>
                {one.name}
              </Tab>
            ))}
            <Tab id="json">JSON</Tab>
          </TabList>
          <TabPanel id="properties" className="inspector-panel">
            {children}
          </TabPanel>
          {tabs.map((one) => (
            <TabPanel key={one.id} id={one.id} className="inspector-panel">
              {one.content}
            </TabPanel>
          ))}
          <TabPanel id="json" className="inspector-panel inspector-panel-json">
            <JsonTab label={label} onChange={(read) => replace(read, "")} />
          </TabPanel>
        </Tabs>
        {kept !== undefined && (
          <SaveBar
            draft={kept}
            busy={busy}
            error={error}
            blocked={blocked}
            onSave={() => void run()}
            onDiscard={() => {
              forget();
              useDrafts.getState().drop(key);
            }}
          />
        )}
        {kept !== undefined && settling && kept.conflicts.length > 0 && (
          <ConflictDialog
            label={label}
            draft={kept}
            onClose={() => setSettling(false)}
            onSettle={(theirs) => {
              useDrafts.getState().settle(key, theirs);
              setSettling(false);
              void run();
            }}
          />
        )}
      </div>
    </EditingContext>
  );
}
