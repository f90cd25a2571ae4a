import { Download, History, SquarePen, Trash2, Upload } from "lucide-react";
import { useState } from "react";
import {
  Button,
  Dialog,
  DialogTrigger,
  FileTrigger,
  GridList,
  GridListItem,
  Input,
  Popover,
  SearchField,
  Tab,
  TabList,
  TabPanel,
  Tabs,
} from "react-aria-components";

import { renderJson } from "../api/json";
import { useNotices } from "../app/notices";
import { saveFile } from "../results/download";
import { parseSaved } from "./history";
import type { Sample } from "./samples";
import { useQueries } from "./store";
import { useWrite } from "./useLink";

interface Props {
  samples: Sample[];
  onRun(): void;
}

/** A query that may be taken up again. */
interface Item {
  id: string;
  title: string;
  detail: string;
  text: string;
  parameters: string;
}

/** What was run, what was saved, and samples of what may be asked. */
export function QueryLibrary({ samples, onRun }: Props) {
  const [open, setOpen] = useState(false);
  const write = useWrite();
  const take = (item: Item, andRun: boolean): void => {
    write({ text: item.text, parameters: item.parameters });
    setOpen(false);
    if (andRun) onRun();
  };
  return (
    <DialogTrigger isOpen={open} onOpenChange={setOpen}>
      <Button className="button" aria-label="Queries: history, saved, samples">
        <History size={14} aria-hidden /> <span className="query-wide">Queries</span>
      </Button>
      <Popover className="react-aria-Popover query-library" placement="bottom end">
        <Dialog aria-label="Queries">
          <Library samples={samples} onTake={take} />
        </Dialog>
      </Popover>
    </DialogTrigger>
  );
}

function Library({
  samples,
  onTake,
}: {
  samples: Sample[];
  onTake(item: Item, run: boolean): void;
}) {
  const { history, saved, clearHistory, forget } = useQueries();
  const [sought, setSought] = useState("");
  const first = saved.length > 0 ? "saved" : history.length > 0 ? "history" : "samples";
  const shared = { sought, onTake };
  return (
    <Tabs defaultSelectedKey={first}>
      <TabList aria-label="Queries">
        <Tab id="history">History</Tab>
        <Tab id="saved">Saved</Tab>
        <Tab id="samples">Samples</Tab>
      </TabList>
      <SearchField aria-label="Find a query" value={sought} onChange={setSought}>
        <Input placeholder="Find a query" />
      </SearchField>
      <TabPanel id="history">
        <Items
          {...shared}
          label="History"
          empty="No query was run yet in this browser."
          items={history.map((one, at) => ({
            ...one,
            id: String(at),
            title: oneLine(one.text),
            detail: `${new Date(one.at).toLocaleString()} · ${one.rows}${one.more ? "+" : ""} rows · ${Math.round(one.milliseconds)} ms`,
          }))}
        />
        {history.length > 0 && (
          <Button className="button button-quiet button-small" onPress={clearHistory}>
            <Trash2 size={13} aria-hidden /> Clear the history
          </Button>
        )}
      </TabPanel>
      <TabPanel id="saved">
        <Items
          {...shared}
          label="Saved queries"
          onDelete={forget}
          empty="No query is saved in this browser. «Save» gives the one in the editor a name."
          items={saved.map((one) => ({
            ...one,
            id: one.name,
            title: one.name,
            detail: oneLine(one.text),
          }))}
        />
        <SavedActions />
      </TabPanel>
      <TabPanel id="samples">
        <Items
          {...shared}
          label="Sample queries"
          empty="There is no sample."
          items={samples.map(({ name, text }) => ({
            id: name,
            title: name,
            detail: oneLine(text),
            text,
            parameters: "",
          }))}
        />
      </TabPanel>
    </Tabs>
  );
}

interface ItemsProps {
  label: string;
  items: Item[];
  empty: string;
  sought: string;
  onTake(item: Item, run: boolean): void;
  onDelete?: (id: string) => void;
}

/** A list of queries: one that is chosen runs. */
function Items({ label, items, empty, sought, onTake, onDelete }: ItemsProps) {
  const needle = sought.trim().toLowerCase();
  const shown = items.filter((one) => `${one.title}\n${one.text}`.toLowerCase().includes(needle));
  const take = (key: string | number): void => {
    const item = shown.find((one) => one.id === key);
    if (item !== undefined) onTake(item, true);
  };
  return (
    <GridList
      aria-label={label}
      className="query-items"
      items={shown}
      onAction={take}
      renderEmptyState={() => (
        <p className="muted query-none">
          {items.length === 0 ? empty : "No query holds these words."}
        </p>
      )}
    >
      {(item) => (
        <GridListItem id={item.id} textValue={item.title} className="query-item">
          <span className="query-item-text">
            <span className="query-item-title">{item.title}</span>
            <span className="query-item-detail muted">{item.detail}</span>
          </span>
          <Button
            className="button button-quiet button-small button-icon"
            aria-label={`Write into the editor: ${item.title}`}
            onPress={() => onTake(item, false)}
          >
            <SquarePen size={14} aria-hidden />
          </Button>
          {onDelete !== undefined && (
            <Button
              className="button button-quiet button-small button-icon"
              aria-label={`Delete: ${item.title}`}
              onPress={() => onDelete(item.id)}
            >
              <Trash2 size={14} aria-hidden />
            </Button>
          )}
        </GridListItem>
      )}
    </GridList>
  );
}

function SavedActions() {
  const { saved, save } = useQueries();
  const { say, sayError } = useNotices.getState();
  const take = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    try {
      const found = parseSaved(await file.text());
      found.forEach(save);
      say(`${found.length} saved ${found.length === 1 ? "query is" : "queries are"} taken over.`);
    } catch (error) {
      sayError(error);
    }
  };
  return (
    <div className="query-saved">
      <Button
        className="button button-quiet button-small"
        isDisabled={saved.length === 0}
        onPress={() => saveFile([renderJson(saved, 2)], "queries.json", "application/json")}
      >
        <Download size={13} aria-hidden /> Export
      </Button>
      <FileTrigger
        acceptedFileTypes={["application/json", ".json"]}
        onSelect={(files) => void take(files?.[0])}
      >
        <Button className="button button-quiet button-small">
          <Upload size={13} aria-hidden /> Import
        </Button>
      </FileTrigger>
    </div>
  );
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
