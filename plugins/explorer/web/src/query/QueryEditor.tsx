import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  completionKeymap,
} from "@codemirror/autocomplete";
import { lintKeymap, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { Prec } from "@codemirror/state";
import { EditorView, keymap, placeholder, tooltips } from "@codemirror/view";
import { useEffect, useMemo, useState } from "react";

import { Code } from "../code/Code";
import { completionSource, type Known } from "./completion";
import { LANGUAGES } from "./language";
import { detectLanguage } from "./tokens";

interface Props {
  value: string;
  onChange(value: string): void;
  onRun(): void;
  onExplain(): void;
  known: Known;
  diagnostics: Diagnostic[];
}

/** The editor of queries: coloured by the language it finds, completed, underlined where wrong. */
export function QueryEditor({ value, onChange, onRun, onExplain, known, diagnostics }: Props) {
  const [view, setView] = useState<EditorView | null>(null);
  const language = detectLanguage(value);
  const extensions = useMemo(
    () => [
      LANGUAGES[language],
      autocompletion({ override: [completionSource(known)], icons: false }),
      closeBrackets(),
      placeholder("MATCH (n) RETURN n LIMIT 100"),
      tooltips({ position: "fixed" }),
      Prec.high(
        keymap.of([
          { key: "Mod-Enter", run: does(onRun) },
          { key: "Mod-Shift-Enter", run: does(onExplain) },
        ]),
      ),
      // NOTE: only while something is offered; else Tab leads out of the editor.
      keymap.of([{ key: "Tab", run: acceptCompletion }]),
      keymap.of([...closeBracketsKeymap, ...completionKeymap, ...lintKeymap]),
    ],
    [language, known, onRun, onExplain],
  );
  useEffect(() => {
    if (view === null) return;
    const length = view.state.doc.length;
    const inside = diagnostics.filter((one) => one.to <= length);
    view.dispatch(setDiagnostics(view.state, inside));
  }, [view, diagnostics]);
  return (
    <Code
      className="query-editor"
      label="Query"
      value={value}
      onChange={onChange}
      onView={setView}
      extensions={extensions}
    />
  );
}

/** A command of a key; what was being completed is left as it is written. */
function does(what: () => void) {
  return (view: EditorView): boolean => {
    closeCompletion(view);
    what();
    return true;
  };
}
