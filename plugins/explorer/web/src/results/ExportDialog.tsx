import { Check, FileSpreadsheet } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import {
  Button,
  Checkbox,
  Dialog,
  DialogTrigger,
  Heading,
  Label,
  Modal,
  ModalOverlay,
  ProgressBar,
  Radio,
  RadioGroup,
} from "react-aria-components";

import { Failure } from "../app/Failure";
import { useSession } from "../session/session";
import { columnsOf } from "./columns";
import { saveFile } from "./download";
import { writeExport, type ExportOptions, type Progress } from "./export";
import { sortRows } from "./sorting";
import { useResults } from "./store";

/** Asks how the rows are to be saved, and saves them. */
export function ExportDialog({ spread }: { spread: boolean }) {
  const [open, setOpen] = useState(false);
  return (
    <DialogTrigger isOpen={open} onOpenChange={setOpen}>
      <Button className="button button-small">
        <FileSpreadsheet size={13} aria-hidden /> <span className="results-word">Export rows</span>
      </Button>
      <ModalOverlay className="react-aria-ModalOverlay" isDismissable>
        <Modal className="react-aria-Modal">
          <Dialog>
            <ExportForm spread={spread} onDone={() => setOpen(false)} />
          </Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  );
}

function ExportForm({ spread, onDone }: { spread: boolean; onDone(): void }) {
  const { rows, continuationToken, sorting } = useResults();
  const [options, setOptions] = useState<ExportOptions>({
    format: "csv",
    all: continuationToken !== null,
    spread,
    guard: true,
  });
  const { progress, error, start } = useExport(spread, onDone);
  const change = (part: Partial<ExportOptions>): void => setOptions({ ...options, ...part });
  const fetched = rows.length.toLocaleString();
  return (
    <>
      <Heading slot="title">Export the result</Heading>
      <RadioGroup
        value={options.format}
        onChange={(format) => change({ format: format === "json" ? "json" : "csv" })}
      >
        <Label>Format</Label>
        <Choice value="csv">CSV (RFC 4180), nested values as JSON</Choice>
        <Choice value="json">JSON, a list of the rows</Choice>
      </RadioGroup>
      {continuationToken !== null && (
        <RadioGroup
          value={options.all ? "all" : "fetched"}
          onChange={(what) => change({ all: what === "all" })}
        >
          <Label>Rows</Label>
          <Choice value="fetched">
            The {fetched} rows that were fetched{sorting.length > 0 && ", sorted as they are here"}
          </Choice>
          <Choice value="all">
            All rows: the rest is fetched now
            {sorting.length > 0 && ", and all are in the order of the query"}
          </Choice>
        </RadioGroup>
      )}
      {options.format === "csv" && (
        <>
          <Box isSelected={options.spread} onChange={(one) => change({ spread: one })}>
            Members of twins and relationships as columns
          </Box>
          <Box isSelected={options.guard} onChange={(guard) => change({ guard })}>
            Guard against formulas: an apostrophe goes in front of texts that begin with = + - @
          </Box>
        </>
      )}
      {progress !== null && (
        <ProgressBar isIndeterminate aria-label="Export" className="results-progress">
          {progress.rows.toLocaleString()} rows so far
        </ProgressBar>
      )}
      {error !== null && <Failure title="The export ended" error={error} />}
      <div className="modal-actions">
        <Button className="button" slot="close">
          Cancel
        </Button>
        <Button
          className="button button-primary"
          isDisabled={progress !== null}
          onPress={() => void start(options)}
        >
          Export
        </Button>
      </div>
    </>
  );
}

/** An export that is under way; closing the dialog ends it. */
function useExport(spread: boolean, onDone: () => void) {
  const { graph } = useSession();
  const controller = useRef<AbortController>(null);
  const [progress, setProgress] = useState<Progress | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => () => controller.current?.abort(), []);
  const start = async (options: ExportOptions): Promise<void> => {
    const { rows, continuationToken, query, parameters, sorting } = useResults.getState();
    const aborting = new AbortController();
    controller.current = aborting;
    setError(null);
    setProgress({ rows: rows.length, done: false });
    const next = (token: string) =>
      graph.query(query, {
        parameters,
        continuationToken: token,
        pageSize: 2000,
        signal: aborting.signal,
      });
    try {
      // Of what is fetched now nobody knows yet between which rows it belongs.
      const isWhole = continuationToken === null || !options.all;
      const shown = isWhole ? sortRows(rows, columnsOf(rows, spread), sorting) : rows;
      const parts = await writeExport(shown, continuationToken, next, options, setProgress);
      const type = options.format === "csv" ? "text/csv;charset=utf-8" : "application/json";
      saveFile(parts, `result.${options.format}`, type);
      onDone();
    } catch (failure) {
      if (aborting.signal.aborted) return;
      setError(failure);
    } finally {
      if (!aborting.signal.aborted) setProgress(null);
    }
  };
  return { progress, error, start };
}

export function Choice({ value, children }: { value: string; children: React.ReactNode }) {
  return (
    <Radio value={value} className="react-aria-Radio results-radio">
      <span className="results-dot" aria-hidden />
      <span>{children}</span>
    </Radio>
  );
}

interface BoxProps {
  isSelected: boolean;
  onChange(selected: boolean): void;
  children: React.ReactNode;
}

export function Box({ isSelected, onChange, children }: BoxProps) {
  return (
    <Checkbox isSelected={isSelected} onChange={onChange}>
      <span className="checkbox-box">
        <Check size={12} aria-hidden />
      </span>
      {children}
    </Checkbox>
  );
}
