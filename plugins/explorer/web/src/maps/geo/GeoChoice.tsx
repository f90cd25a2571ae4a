import { Settings2 } from "lucide-react";
import { useMemo, useState } from "react";
import {
  Button,
  Checkbox,
  Dialog,
  DialogTrigger,
  Input,
  Popover,
  SearchField,
} from "react-aria-components";
import { create } from "zustand";

import { showText } from "../../app/showText";
import type { ModelIndex } from "../../models/index";
import { readStored, storageKey, writeStored } from "../../query/storage";
import { useSession } from "../../session/session";
import { findGeoProperties, type GeoProperty } from "./properties";

/** What was chosen in this browser instead of what was found, by the key of its storage. */
const useChosen = create<Record<string, string[] | null>>(() => ({}));

/** The properties that the map is drawn of: those that models say, or those that were chosen. */
export function useGeoProperties(index: ModelIndex) {
  const { configuration, graphId, subject } = useSession();
  const key = storageKey({ base: configuration.base, graphId, subject }, "geo");
  const chosen = useChosen((state) => state[key]);
  const kept = useMemo(() => readChosen(readStored(key)), [key]);
  const own = chosen === undefined ? kept : chosen;
  const all = useMemo(() => findGeoProperties(index), [index]);
  const properties = useMemo(
    () => all.filter((one) => own?.includes(one.path) ?? one.isSure),
    [all, own],
  );
  return {
    all,
    properties,
    isChosen: own !== null,
    /** Null goes back to what was found. */
    choose: (paths: string[] | null): void => {
      useChosen.setState({ [key]: paths });
      writeStored(key, paths);
    },
  };
}

function readChosen(stored: unknown): string[] | null {
  if (!Array.isArray(stored)) return null;
  return stored.filter((one): one is string => typeof one === "string");
}

/** PERF: ontologies have thousands of texts; the search finds the others. */
const MOST_SHOWN = 30;

interface Props {
  all: readonly GeoProperty[];
  chosen: readonly string[];
  isChosen: boolean;
  onChoose(paths: string[] | null): void;
}

/** Which properties hold where twins are. */
export function GeoChoice({ all, chosen, isChosen, onChoose }: Props) {
  const [text, setText] = useState("");
  const wanted = text.trim().toLowerCase();
  const found = all.filter((one) => one.path.toLowerCase().includes(wanted));
  return (
    <DialogTrigger>
      <Button className="button button-small">
        <Settings2 size={14} aria-hidden /> Properties ({chosen.length})
      </Button>
      <Popover placement="bottom start">
        <Dialog aria-label="Properties with geometries" className="maps-choice">
          <h3>Properties with geometries</h3>
          <p className="muted">
            {isChosen ? "As chosen in this browser." : "Found by what the models say."}
          </p>
          <SearchField aria-label="Search properties" value={text} onChange={setText}>
            <Input placeholder="Search texts and objects" />
          </SearchField>
          {found.slice(0, MOST_SHOWN).map(({ path }) => (
            <Checkbox
              key={path}
              isSelected={chosen.includes(path)}
              onChange={(isOn) =>
                onChoose(isOn ? [...chosen, path] : chosen.filter((one) => one !== path))
              }
            >
              <span className="checkbox-box" aria-hidden>
                {chosen.includes(path) ? "✓" : ""}
              </span>
              {showText(path)}
            </Checkbox>
          ))}
          {found.length === 0 && <p className="muted">No text or object is called so.</p>}
          {found.length > MOST_SHOWN && (
            <p className="muted">{found.length - MOST_SHOWN} more are found by a search.</p>
          )}
          {isChosen && (
            <Button className="button button-small" onPress={() => onChoose(null)}>
              As found
            </Button>
          )}
        </Dialog>
      </Popover>
    </DialogTrigger>
  );
}
