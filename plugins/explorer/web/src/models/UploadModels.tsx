import { json } from "@codemirror/lang-json";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import type { EditorView } from "@codemirror/view";
import { useQueryClient } from "@tanstack/react-query";
import { FilePlus, FileWarning, FileJson2, X } from "lucide-react";
import { useEffect, useState } from "react";
import {
  Button,
  Dialog,
  FileTrigger,
  Heading,
  ListBox,
  ListBoxItem,
  Modal,
  ModalOverlay,
} from "react-aria-components";

import { useNotices } from "../app/notices";
import { showText } from "../app/showText";
import { useRefocus } from "../app/useRefocus";
import { Code } from "../code/Code";
import { useSession } from "../session/session";
import { readChosen, type Given } from "./dropped";
import {
  addSources,
  buildRequest,
  chooseSource,
  readFindings,
  tellWrong,
  type Finding,
  type Source,
} from "./upload";

const EXTENSIONS = [json(), lintGutter()];

interface Props {
  given: Given;
  onClose: () => void;
}

/** Sends files as one request, all or none; what is refused can be mended right here. */
export function UploadModels({ given, onClose }: Props) {
  const [files, setFiles] = useState<readonly Source[]>(given.sources);
  const [left, setLeft] = useState(given.left);
  const [findings, setFindings] = useState<readonly Finding[]>(() => buildRequest(files).findings);
  const [chosen, setChosen] = useState(() => chooseSource(files, findings));
  const [rest, setRest] = useState<readonly string[]>([]);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const cancel = useRefocus<HTMLButtonElement>(busy);
  const { graph, graphId } = useSession();
  const { say, sayError } = useNotices();
  const client = useQueryClient();
  const shown = files.find((one) => one.name === chosen) ?? files[0];

  const edit = (text: string) => {
    setFiles(files.map((one) => (one === shown ? { ...one, text } : one)));
  };
  const leaveOut = (name: string) => {
    // The last file stays, so that the button goes, with the focus.
    if (files.length === 2) cancel.current?.focus();
    setFiles(files.filter((one) => one.name !== name));
    setFindings(findings.filter((one) => one.source !== name));
  };
  const add = (more: Given) => {
    const all = addSources(files, more.sources);
    const found = buildRequest(all).findings;
    setFiles(all);
    setLeft(more.left);
    setRest([]);
    setFindings(found);
    setChosen(chooseSource(all, found, more.sources[0]?.name ?? chosen));
  };
  const send = async () => {
    const request = buildRequest(files);
    setRest([]);
    setError(null);
    setFindings(request.findings);
    if (request.findings.length > 0) {
      setChosen(chooseSource(files, request.findings, chosen));
      return;
    }
    setBusy(true);
    try {
      const created = await graph.createModels(request.documents);
      await client.invalidateQueries({ queryKey: ["models", graphId] });
      say(created.length === 1 ? "1 model is stored." : `${created.length} models are stored.`);
      onClose();
    } catch (refused) {
      const read = readFindings(refused, request.origins);
      setFindings(read.findings);
      setRest(read.rest);
      setError(refused);
      setChosen(chooseSource(files, read.findings, chosen));
    } finally {
      setBusy(false);
    }
  };
  const wrong = findings.length + rest.length;
  return (
    <ModalOverlay isOpen isKeyboardDismissDisabled onOpenChange={(open) => !open && onClose()}>
      <Modal className="react-aria-Modal modal-wide">
        <Dialog>
          <Heading slot="title">Upload models</Heading>
          <p className="muted">
            {files.length === 1 ? "One file" : `${files.length} files`}, stored all or none.
          </p>
          {left.length > 0 && (
            <p role="status">
              Left out, as their names do not end with .json: {showText(left.join(", "))}
            </p>
          )}
          <div className="models-upload">
            <ListBox
              aria-label="Files"
              className="models-files"
              items={files.map((one) => ({ ...one, id: one.name }))}
              selectionMode="single"
              disallowEmptySelection
              selectedKeys={shown === undefined ? [] : [shown.name]}
              onSelectionChange={(keys) => setChosen(String([...keys][0]))}
              dependencies={[findings]}
            >
              {(file) => {
                const count = findings.filter((one) => one.source === file.name).length;
                return (
                  <ListBoxItem id={file.name} textValue={file.name} className="models-file">
                    {count > 0 ? (
                      <FileWarning size={15} aria-hidden className="models-wrong" />
                    ) : (
                      <FileJson2 size={15} aria-hidden />
                    )}
                    <span>{file.name}</span>
                    {count > 0 && <span className="models-wrong">{count}</span>}
                  </ListBoxItem>
                );
              }}
            </ListBox>
            {shown !== undefined && (
              <Marked
                key={shown.name}
                source={shown}
                findings={findings.filter((one) => one.source === shown.name)}
                onChange={edit}
              />
            )}
          </div>
          <div role="alert" className="models-findings">
            {wrong > 0 && (
              <>
                <strong>{tellWrong(wrong, error)}</strong>
                <ul>
                  {rest.map((text) => (
                    <li key={text}>{text}</li>
                  ))}
                  {findings.map((one) => (
                    <li key={`${one.source} ${one.from} ${one.message}`}>
                      <Button
                        className="button button-quiet button-small"
                        onPress={() => setChosen(one.source)}
                      >
                        {one.source}:{lineOf(files, one)}
                      </Button>{" "}
                      {one.message}
                    </li>
                  ))}
                </ul>
              </>
            )}
          </div>
          <div className="modal-actions">
            <FileTrigger
              acceptedFileTypes={[".json", ".dtdl"]}
              allowsMultiple
              onSelect={(chosen) => chosen && void readChosen(chosen).then(add, sayError)}
            >
              <Button className="button button-quiet" isDisabled={busy}>
                <FilePlus size={14} aria-hidden /> Add files
              </Button>
            </FileTrigger>
            {shown !== undefined && files.length > 1 && (
              <Button className="button button-quiet" onPress={() => leaveOut(shown.name)}>
                <X size={14} aria-hidden /> Leave {shown.name} out
              </Button>
            )}
            <Button ref={cancel} className="button" onPress={onClose}>
              Cancel
            </Button>
            <Button
              className="button button-primary"
              isPending={busy}
              isDisabled={files.length === 0}
              onPress={() => void send()}
            >
              {busy ? "Uploading…" : "Upload"}
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

function lineOf(files: readonly Source[], finding: Finding): number {
  const text = files.find((one) => one.name === finding.source)?.text ?? "";
  return text.slice(0, finding.from).split("\n").length;
}

interface MarkedProps {
  source: Source;
  findings: readonly Finding[];
  onChange: (text: string) => void;
}

/** A file with its findings underlined. */
function Marked({ source, findings, onChange }: MarkedProps) {
  const [view, setView] = useState<EditorView | null>(null);
  // NOTE: only new findings are marked anew; those there are move with the text while it is mended.
  const told = JSON.stringify(findings);
  useEffect(() => {
    if (view === null) return;
    const length = view.state.doc.length;
    const diagnostics = (JSON.parse(told) as Finding[]).map((one) => ({
      from: Math.min(one.from, length),
      to: Math.min(one.to, length),
      severity: "error" as const,
      source: one.code,
      message: one.message,
    }));
    view.dispatch(setDiagnostics(view.state, diagnostics));
    const first = diagnostics[0];
    if (first !== undefined) {
      view.dispatch({ selection: { anchor: first.from }, scrollIntoView: true });
    }
  }, [view, told]);
  return (
    <Code
      label={source.name}
      value={source.text}
      onChange={onChange}
      extensions={EXTENSIONS}
      onView={setView}
      className="models-editor"
      folding
    />
  );
}
