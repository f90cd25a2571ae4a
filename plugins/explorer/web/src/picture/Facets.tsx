import { Check, ChevronRight } from "lucide-react";
import { useMemo, useState } from "react";
import { Button, Checkbox, Disclosure, DisclosurePanel, Heading } from "react-aria-components";

import { showText } from "../app/showText";
import type { ModelIndex } from "../models/index";
import { changeFacet, countFacet, type FacetChoice } from "./facetFilter";
import type { Contents } from "./model";
import { listProperties } from "./scalars";
import { usePicture } from "./store";
import type { Visible } from "./visible";

interface Props {
  contents: Contents;
  visible: Visible;
  index: ModelIndex;
}

/** So many values of a property are offered; beyond, the filter is the better way. */
const MOST_VALUES = 30;

/** The properties of the twins here: what is ticked or written there is all that is to be seen. */
export function Facets({ contents, visible, index }: Props) {
  const properties = useMemo(() => listProperties(contents, index), [contents, index]);
  const facets = usePicture((state) => state.hiding.facets);
  const hide = usePicture((state) => state.hide);
  if (properties.length === 0) return null;
  return (
    <section aria-label="Properties" className="picture-facets">
      <h3>Properties</h3>
      {properties.map(({ path, isNumber }) => (
        <FacetOf
          key={path}
          property={path}
          isNumber={isNumber}
          choice={facets.find((one) => one.property === path) ?? null}
          contents={contents}
          visible={visible}
        />
      ))}
      {facets.length > 0 && (
        <Button className="button button-small" onPress={() => hide({ facets: [] })}>
          Clear what is chosen
        </Button>
      )}
    </section>
  );
}

interface FacetProps {
  property: string;
  isNumber: boolean;
  choice: FacetChoice | null;
  contents: Contents;
  visible: Visible;
}

function FacetOf(props: FacetProps) {
  const { property, choice } = props;
  const [open, setOpen] = useState(choice !== null);
  return (
    <Disclosure isExpanded={open} onExpandedChange={setOpen}>
      <Heading level={4}>
        <Button slot="trigger" className="picture-facet-button">
          <ChevronRight size={12} aria-hidden className="query-chevron" />
          <span className="picture-tick-name">{showText(property)}</span>
          {choice !== null && <span className="picture-facet-chosen">chosen</span>}
        </Button>
      </Heading>
      {/* PERF: what is closed is not counted. */}
      <DisclosurePanel>{open && <Shown {...props} />}</DisclosurePanel>
    </Disclosure>
  );
}

function Shown({ property, isNumber, choice, contents, visible }: FacetProps) {
  const hide = usePicture((state) => state.hide);
  const facet = useMemo(
    () => countFacet(contents.nodes, visible.nodes, property),
    [contents, visible, property],
  );
  const choose = (next: FacetChoice | null): void => {
    hide({ facets: changeFacet(usePicture.getState().hiding.facets, property, next) });
  };
  if (facet.count === 0) return <p className="muted">No twin here has a value of it.</p>;
  if (isNumber && facet.span !== null) {
    const range = choice?.kind === "range" ? choice : null;
    const write = (end: "from" | "to", text: string): void => {
      const value = text.trim() === "" ? null : Number(text);
      const next = { from: range?.from ?? null, to: range?.to ?? null, [end]: value };
      const none = next.from === null && next.to === null;
      choose(none ? null : { property, kind: "range", ...next });
    };
    return (
      <div className="picture-range">
        <End
          name="From"
          property={property}
          value={range?.from}
          bound={facet.span[0]}
          onWrite={(text) => write("from", text)}
        />
        <End
          name="To"
          property={property}
          value={range?.to}
          bound={facet.span[1]}
          onWrite={(text) => write("to", text)}
        />
        <span className="picture-tick-count">{facet.count.toLocaleString()} have it</span>
      </div>
    );
  }
  const ticked = choice?.kind === "values" ? choice.values : [];
  const toggle = (value: string): void => {
    const next = ticked.includes(value)
      ? ticked.filter((one) => one !== value)
      : [...ticked, value];
    choose(next.length === 0 ? null : { property, kind: "values", values: next });
  };
  // What is ticked and no twin has any more can be unticked all the same.
  const gone = ticked.filter((one) => !facet.values.some(({ value }) => value === one));
  const offered = [
    ...facet.values.slice(0, MOST_VALUES),
    ...facet.values.slice(MOST_VALUES).filter(({ value }) => ticked.includes(value)),
    ...gone.map((value) => ({ value, count: 0, shown: 0 })),
  ];
  return (
    <ul aria-label={`Values of ${property}`}>
      {offered.map(({ value, count, shown }) => (
        <li key={value} className="picture-facet-value">
          <Checkbox isSelected={ticked.includes(value)} onChange={() => toggle(value)}>
            <span className="checkbox-box">
              <Check size={12} strokeWidth={3} aria-hidden />
            </span>
            <span className="picture-tick-name">{value === "" ? "(empty)" : showText(value)}</span>
            <span className="picture-tick-count">
              {shown !== count && `${shown.toLocaleString()} of `}
              {count.toLocaleString()}
            </span>
          </Checkbox>
        </li>
      ))}
      {facet.values.length > MOST_VALUES && (
        <li className="muted">
          and {(facet.values.length - MOST_VALUES).toLocaleString()} other values, for the filter
        </li>
      )}
    </ul>
  );
}

interface EndProps {
  name: string;
  property: string;
  value: number | null | undefined;
  /** What there is at this end, shown where nothing is written. */
  bound: number;
  onWrite(text: string): void;
}

function End({ name, property, value, bound, onWrite }: EndProps) {
  return (
    <label>
      <span>{name}</span>
      <input
        className="react-aria-Input"
        aria-label={`${name} of ${property}`}
        type="number"
        step="any"
        placeholder={String(bound)}
        value={value ?? ""}
        onChange={(event) => onWrite(event.target.value)}
      />
    </label>
  );
}
