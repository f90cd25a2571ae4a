import { useQuery } from "@tanstack/react-query";
import { ChevronDown } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import {
  Button,
  ComboBox,
  Group,
  Input,
  Label,
  ListBox,
  ListBoxItem,
  Popover,
  Text,
} from "react-aria-components";

import type { GraphClient } from "../api/graph";
import { readCalled } from "../locations/read";
import { useContainment } from "../locations/useContainment";
import { nameOf } from "../models/index";
import { useSession } from "../session/session";
import { showText } from "../app/showText";

interface Props {
  label: string;
  /** A twin that it cannot be. */
  except?: string;
  /** The interface that it has to be of; undefined is any. */
  model: string | undefined;
  value: string;
  /** Whether its label is for screen readers alone, as of a field that need not be filled. */
  isBare?: boolean;
  /** Whether somebody has asked for it, and writes into it next. */
  isAwaited?: boolean;
  onChange?(id: string): void;
  /** Hears of a twin that is chosen of those found. */
  onChoose?(id: string): void;
}

const MOST = 20;
/** So that not every key is a query. */
const PAUSE = 200;

interface Found {
  id: string;
  name: string;
  model: string;
  /** Where it is; empty where that is not known. */
  place: string;
}

/** A twin by its id, looked for by its beginning or a part of its name. */
export function TwinSearch(props: Props) {
  const {
    label,
    model,
    value,
    except = "",
    isBare = false,
    isAwaited = false,
    onChange,
    onChoose,
  } = props;
  const { graph, graphId, may } = useSession();
  const { containment } = useContainment();
  const [text, setText] = useState(value);
  // PERF: nothing is looked for before somebody is about to write.
  const [isWanted, setWanted] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isAwaited) input.current?.focus();
  }, [isAwaited]);
  const {
    data = [],
    error,
    isFetching,
  } = useQuery({
    queryKey: ["twin-search", graphId, model ?? "", except, text, containment],
    queryFn: async ({ signal }) => {
      await pause(PAUSE, signal);
      const found = await search(graph, model, except, text, signal);
      if (containment.length === 0 || found.length === 0) return found;
      const ids = found.map(({ id }) => id);
      const called = await readCalled(graph, containment, ids, signal);
      return found.map((one) => ({ ...one, place: called.get(one.id)?.place ?? "" }));
    },
    enabled: isWanted && may("query/read"),
    placeholderData: (before) => before ?? [],
  });
  return (
    <ComboBox
      allowsCustomValue
      // NOTE: without it the list does not open once what is found comes later than the next key.
      allowsEmptyCollection
      isRequired={!isBare}
      {...(isBare ? { "aria-label": label, className: "inspector-find" } : {})}
      onFocus={() => setWanted(true)}
      inputValue={text}
      onInputChange={(written) => {
        setText(written);
        onChange?.(written.trim());
      }}
      onChange={(key) => {
        if (key === null) return;
        setText(String(key));
        onChange?.(String(key));
        onChoose?.(String(key));
      }}
      items={data}
      defaultFilter={() => true}
    >
      {!isBare && <Label>{label}</Label>}
      <Group>
        <Input
          ref={input}
          spellCheck="false"
          placeholder={isBare ? "Find by id or name" : "Id or name"}
        />
        <Button aria-label="Show twins">
          <ChevronDown size={14} aria-hidden />
        </Button>
      </Group>
      {error !== null && <p className="inspector-wrong">{error.message}</p>}
      <Popover>
        <ListBox<Found>
          renderEmptyState={() => (
            <p className="inspector-none muted">
              {isFetching ? "Searching…" : "Nothing is found."}
            </p>
          )}
        >
          {(one) => (
            <ListBoxItem id={one.id} textValue={one.id}>
              <Text slot="label">{showText(one.id)}</Text>
              <Text slot="description">{showText(describe(one))}</Text>
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </ComboBox>
  );
}

/** What it is and where: `Office 2.11 · Level 2 · North Wing`. */
function describe({ model, name, place }: Found): string {
  const kind = nameOf(model);
  const called = name.toLowerCase().startsWith(kind.toLowerCase()) ? name : `${kind} ${name}`;
  return [called.trim(), place].filter((one) => one !== "").join(" · ");
}

async function search(
  graph: GraphClient,
  model: string | undefined,
  except: string,
  text: string,
  signal: AbortSignal,
): Promise<Found[]> {
  const label = model === undefined ? "Twin" : `\`${model.replaceAll("`", "``")}\``;
  const page = await graph.query(
    `MATCH (t:${label})
     WHERE t.$dtId <> $except AND (t.$dtId STARTS WITH $text OR toLower(t.name) CONTAINS $lower)
     RETURN t.$dtId AS id, t.name AS name, t.\`$metadata\`.\`$model\` AS model LIMIT ${MOST}`,
    { parameters: { except, text: text.trim(), lower: text.trim().toLowerCase() }, signal },
  );
  return page.value.map((row) => ({
    id: String(row["id"]),
    name: typeof row["name"] === "string" ? row["name"] : "",
    model: String(row["model"]),
    place: "",
  }));
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("Not wanted any more.", "AbortError"));
    });
  });
}
