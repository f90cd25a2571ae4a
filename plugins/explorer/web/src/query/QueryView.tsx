import { Suspense, useEffect, useMemo } from "react";

import { latePart } from "../app/parts";
import { isWriting } from "../app/Keys";
import { useModels } from "../models/useModels";
import { ResultsPanel } from "../results/ResultsPanel";
import { useResults } from "../results/store";
import { useSession } from "../session/session";
import { Beginning } from "./Beginning";
import { applySuggestion, buildDiagnostics } from "./diagnostics";
import { EditorFoot } from "./EditorFoot";
import { ParametersPanel } from "./ParametersPanel";
import { readParameters, usedParameters } from "./parameters";
import "./query.css";
import { QueryEditor } from "./QueryEditor";
import { QueryToolbar } from "./QueryToolbar";
import { buildSamples } from "./samples";
import { buildSchema } from "./schema";
import { Split } from "./Split";
import { useQueries } from "./store";
import { useCheck } from "./useCheck";
import { useLanguageWords } from "./useLanguageWords";
import { useLink, useWrite } from "./useLink";
import { useMomentRun } from "./useMomentRun";
import { usePending } from "./run";
import { useRun } from "./useRun";

// PERF: with the frame of its form; most who look at a graph write nothing.
const StatementDialog = latePart(() => import("./StatementDialog"));

/** Ask the graph: the editor, what goes with it, and the results below. */
export default function QueryView() {
  const { configuration, graphId, subject } = useSession();
  useQueries.getState().open({ base: configuration.base, graphId, subject });
  const { text, parameters } = useQueries();
  const write = useWrite();
  const { index } = useModels();
  const schema = useMemo(() => buildSchema(index), [index]);
  const samples = useMemo(() => buildSamples(index), [index]);
  const words = useLanguageWords();
  const read = useMemo(() => readParameters(parameters), [parameters]);
  const missing = useMemo(
    () => usedParameters(text).filter((name) => !(name in (read.value ?? {}))),
    [text, read],
  );
  const running = useResults((state) => state.activity === "running");
  const check = useCheck(text, read.value, running);
  const diagnostics = useDiagnostics(text, check.finding);
  const { run, explain, profile } = useRun();
  const known = useMemo(
    () => ({ schema, words, parameters: Object.keys(read.value ?? {}) }),
    [schema, words, read],
  );
  const pending = usePending((state) => state.pending);
  useLink(run, explain);
  useMomentRun();
  useEffect(() => focusOnSlash(), []);
  useEffect(() => hearOtherTabs(), []);
  return (
    <section className="query" aria-label="Query">
      <QueryToolbar onRun={run} onExplain={explain} onProfile={profile} samples={samples} />
      <Split
        above={
          <>
            <QueryEditor
              value={text}
              onChange={(value) => write({ text: value })}
              onRun={run}
              onExplain={explain}
              known={known}
              diagnostics={diagnostics}
            />
            <EditorFoot text={text} check={check} />
            <ParametersPanel
              value={parameters}
              error={read.error}
              missing={missing}
              parsed={read.value}
              onChange={(value) => write({ parameters: value })}
            />
          </>
        }
        below={
          <ResultsPanel
            onFix={(warning) => write({ text: applySuggestion(text, warning) })}
            written={text}
            beginning={<Beginning samples={samples} onRun={run} />}
          />
        }
      />
      {pending !== null && (
        <Suspense>
          <StatementDialog pending={pending} />
        </Suspense>
      )}
    </section>
  );
}

/** What the check found, else what the run did, if it ran the text that stands there. */
function useDiagnostics(text: string, found: ReturnType<typeof useCheck>["finding"]) {
  const { asked, error, warnings } = useResults();
  return useMemo(() => {
    const ran = asked === text && (error !== null || warnings.length > 0);
    const finding = found ?? (ran ? { text, error, warnings } : null);
    return finding === null ? [] : buildDiagnostics(finding);
  }, [text, found, asked, error, warnings]);
}

/** What another tab saves, forgets or runs is in the lists of this one too. */
function hearOtherTabs(): () => void {
  const hear = ({ key, storageArea }: StorageEvent): void => {
    if (storageArea === localStorage) useQueries.getState().hear(key);
  };
  window.addEventListener("storage", hear);
  return () => window.removeEventListener("storage", hear);
}

/** `/` leads to the editor from anywhere where it is not written. */
function focusOnSlash(): () => void {
  const hear = (event: KeyboardEvent): void => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isWriting(event)) return;
    const host = document.querySelector(".query-editor");
    const content = host?.shadowRoot?.querySelector<HTMLElement>(".cm-content");
    if (content === null || content === undefined) return;
    event.preventDefault();
    content.focus();
  };
  document.addEventListener("keydown", hear);
  return () => document.removeEventListener("keydown", hear);
}
