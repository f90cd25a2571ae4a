import { useMemo, useState } from "react";
import {
  Button,
  Input,
  ListBox,
  ListBoxItem,
  ListLayout,
  SearchField,
  Text,
  Virtualizer,
} from "react-aria-components";

import { titleOf } from "../../api/errors";
import { Failure } from "../../app/Failure";
import { showText } from "../../app/showText";
import { TwinSearch } from "../../inspector/TwinSearch";
import { Choice } from "../../picture/StyleOf";
import type { DrawnTwin } from "../useDrawn";
import type { Bound } from "./parts";

const LAYOUT = { rowHeight: 44 };

interface Props {
  bound: ReadonlyMap<string, Bound>;
  drawn: ReadonlyMap<string, DrawnTwin>;
  /** The part that is chosen, here or in the scene. */
  chosen: string | null;
  mayWrite: boolean;
  onChoose(part: string | null): void;
  /** Binds a part by hand: to a twin, to none (null), or no longer (undefined). */
  onBind(part: string, twin: string | null | undefined): Promise<void>;
}

const SHOWN = [
  ["all", "All parts"],
  ["bound", "With a twin"],
  ["unbound", "Without a twin"],
] as const;

/** All parts of a scene with their twins, and the way to bind one by hand. */
export function BindSide({ bound, drawn, chosen, mayWrite, onChoose, onBind }: Props) {
  const [shown, setShown] = useState<string>("all");
  const [text, setText] = useState("");
  const rows = useMemo(() => {
    const wanted = text.trim().toLowerCase();
    const { compare } = new Intl.Collator(undefined, { numeric: true });
    return [...bound.values()]
      .filter(({ twin }) => shown === "all" || (twin !== null) === (shown === "bound"))
      .map((one) => ({
        id: one.part.name,
        title: showText(one.part.name),
        detail: describeBound(one, drawn),
        color: one.twin === null ? null : (drawn.get(one.twin)?.color ?? null),
      }))
      .filter((one) => `${one.title} ${one.detail}`.toLowerCase().includes(wanted))
      .sort((one, other) => compare(one.title, other.title));
  }, [bound, drawn, shown, text]);
  const one = chosen === null ? undefined : bound.get(chosen);
  const count = [...bound.values()].filter(({ twin }) => twin !== null).length;
  return (
    <section className="plan-side" aria-label="Bindings">
      <h2>
        Parts{" "}
        <span className="muted">
          {count.toLocaleString()} of {bound.size.toLocaleString()} have a twin
        </span>
      </h2>
      <Choice label="Shown" value={shown} options={SHOWN} onChange={setShown} />
      <SearchField aria-label="Search parts" value={text} onChange={setText}>
        <Input placeholder="Part or twin" />
      </SearchField>
      <Virtualizer layout={ListLayout} layoutOptions={LAYOUT}>
        <ListBox
          aria-label="Parts of the scene"
          className="maps-twins scene-parts"
          items={rows}
          selectionMode="single"
          selectionBehavior="replace"
          selectedKeys={chosen === null ? [] : [chosen]}
          onSelectionChange={(keys) => {
            const [name] = keys === "all" ? [] : keys;
            onChoose(name === undefined ? null : String(name));
          }}
          renderEmptyState={() => <p className="muted">No part is so.</p>}
        >
          {(row) => (
            <ListBoxItem id={row.id} textValue={row.title} className="maps-twin">
              <span
                className={row.color === null ? "models-dot scene-unbound" : "models-dot"}
                style={row.color === null ? {} : { background: row.color }}
                aria-hidden
              />
              <Text slot="label">{row.title}</Text>
              <Text slot="description">{row.detail}</Text>
            </ListBoxItem>
          )}
        </ListBox>
      </Virtualizer>
      {mayWrite &&
        (one === undefined ? (
          <p className="muted">Choose a part, here or in the scene, to bind it to a twin.</p>
        ) : (
          <BindOne key={one.part.name} one={one} onBind={onBind} />
        ))}
    </section>
  );
}

function BindOne({ one, onBind }: { one: Bound; onBind: Props["onBind"] }) {
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const { name } = one.part;
  const bind = (twin: string | null | undefined): void => {
    setBusy(true);
    setError(null);
    onBind(name, twin)
      .catch(setError)
      .finally(() => setBusy(false));
  };
  return (
    <div className="scene-bind" role="group" aria-label={`Twin of ${name}`}>
      <strong>{showText(name)}</strong>
      <TwinSearch
        key={one.twin ?? ""}
        label={`Twin of ${name}`}
        model={undefined}
        value={one.twin ?? ""}
        isBare
        onChoose={bind}
      />
      <div className="plan-tools">
        {one.twin !== null && (
          <Button className="button button-small" isDisabled={isBusy} onPress={() => bind(null)}>
            No twin
          </Button>
        )}
        {one.how === "hand" && (
          <Button
            className="button button-small"
            isDisabled={isBusy}
            onPress={() => bind(undefined)}
          >
            As found by its name
          </Button>
        )}
      </div>
      {error !== null && <Failure title={titleOf(error)} error={error} />}
    </div>
  );
}

const HOW: Readonly<Record<Bound["how"], string>> = {
  hand: "by hand",
  extras: "by extras",
  id: "by id",
  name: "by name",
  none: "",
};

function describeBound(
  { twin, how, problem }: Bound,
  drawn: ReadonlyMap<string, DrawnTwin>,
): string {
  if (twin === null) {
    return how === "hand" ? "no twin, by hand" : `no twin${problem === null ? "" : `: ${problem}`}`;
  }
  const label = drawn.get(twin)?.label ?? twin;
  const told = label === twin ? label : `${label} ${twin}`;
  return showText(`${told} · ${HOW[how]}`);
}
