import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, foldGutter, foldKeymap, indentOnInput } from "@codemirror/language";
import { searchKeymap } from "@codemirror/search";
import { Annotation, Compartment, EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useEffectEvent, useRef } from "react";

import "./code.css";
import { writeOver } from "./replace";
import { codeTheme } from "./theme";

export interface CodeProps {
  /** What the text is, for screen readers. */
  label: string;
  value: string;
  /** Called at each edit; without it the text is to be read only. */
  onChange?: (value: string) => void;
  /** The language and whatever else this editor has; may change at any time. */
  extensions?: Extension;
  lines?: boolean;
  folding?: boolean;
  /** The view once it stands, and null when it goes. */
  onView?: (view: EditorView | null) => void;
  className?: string;
}

const NONE: Extension = [];

/** Marks a change that came by `value`, of which who gave it knows. */
const FROM_OUTSIDE = Annotation.define<boolean>();

/** A text in CodeMirror, to be edited or read. */
export function Code(props: CodeProps) {
  const { label, value, onChange, extensions = NONE, className } = props;
  const { lines = true, folding = false } = props;
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const changeable = useRef(new Compartment());
  const readOnly = onChange === undefined;
  const tellChange = useEffectEvent((text: string) => onChange?.(text));
  const tellView = useEffectEvent((one: EditorView | null) => props.onView?.(one));
  const changing = useEffectEvent(() => [
    // A text that scrolls can be reached by Tab whether it is written or read only.
    EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
    extensions,
  ]);
  const text = useEffectEvent(() => value);

  useEffect(() => {
    const place = host.current;
    if (place === null) return;
    // SEC: within a shadow root the library's styles are adopted style sheets, which the page's
    // Content-Security-Policy allows; elsewhere it writes <style> elements, which it does not.
    const root = place.shadowRoot ?? place.attachShadow({ mode: "open" });
    const made = new EditorView({
      parent: root,
      root,
      state: EditorState.create({
        doc: text(),
        extensions: [
          lines ? lineNumbers() : NONE,
          folding ? foldGutter() : NONE,
          history(),
          bracketMatching(),
          readOnly ? [EditorState.readOnly.of(true)] : indentOnInput(),
          // NOTE: in front of the usual keys, so that Ctrl+Enter may run what is written.
          changeable.current.of(changing()),
          keymap.of([...defaultKeymap, ...historyKeymap, ...foldKeymap, ...searchKeymap]),
          codeTheme,
          writeOver,
          EditorView.lineWrapping,
          EditorView.updateListener.of((update) => {
            const given = update.transactions.some((one) => one.annotation(FROM_OUTSIDE));
            if (update.docChanged && !given) tellChange(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = made;
    tellView(made);
    return () => {
      tellView(null);
      made.destroy();
      view.current = null;
    };
  }, [lines, folding, readOnly]);

  useEffect(() => {
    const made = view.current;
    if (made === null || made.state.doc.toString() === value) return;
    made.dispatch({
      changes: { from: 0, to: made.state.doc.length, insert: value },
      annotations: FROM_OUTSIDE.of(true),
    });
  }, [value]);

  useEffect(() => {
    view.current?.dispatch({ effects: changeable.current.reconfigure(changing()) });
  }, [label, extensions]);

  return <div ref={host} className={className === undefined ? "code" : `code ${className}`} />;
}
