import { RotateCcw } from "lucide-react";
import type { ReactNode } from "react";
import { Button, Dialog, DialogTrigger, Popover } from "react-aria-components";

import type { ModelIndex } from "../models/index";
import { readScalars } from "./scalars";
import { ICON_NAMES } from "./icons";
import { memberOf, SIZES } from "./style";
import { useStyle } from "./styleStore";

interface SwatchProps {
  /** What it is of, for whom it is read. */
  name: string;
  children: ReactNode;
  /** What is shown to choose the colour by. */
  swatch: ReactNode;
}

/** The mark of a model or a relationship, which opens what it is drawn with. */
function Swatch({ name, swatch, children }: SwatchProps) {
  return (
    <DialogTrigger>
      <Button className="picture-swatch" aria-label={`Style of ${name}`}>
        {swatch}
      </Button>
      <Popover placement="left top">
        <Dialog aria-label={`Style of ${name}`} className="picture-style">
          <h3>{name}</h3>
          {children}
        </Dialog>
      </Popover>
    </DialogTrigger>
  );
}

/** Colour, icon, size and caption of the twins of a model. */
export function StyleOfModel({ id, index, swatch }: OfModel) {
  const own = useStyle((state) => memberOf(state.style.models, id)) ?? {};
  const styleModel = useStyle((state) => state.styleModel);
  const name = id === "" ? "Not known" : index.label(id);
  const captions = readScalars(index, id).map((one) => one.path);
  return (
    <Swatch name={name} swatch={swatch}>
      <ColorField
        label="Colour"
        value={index.color(id)}
        onChange={(color) => styleModel(id, { color })}
      />
      <Choice
        label="Icon"
        value={own.icon ?? ""}
        options={[["", "By its name"], ...ICON_NAMES.map((one) => [one, one] as const)]}
        onChange={(icon) => styleModel(id, { icon: icon === "" ? undefined : icon })}
      />
      <Choice
        label="Size"
        value={String(own.size ?? SIZES.usual)}
        options={Object.entries(SIZES).map(([word, size]) => [String(size), word] as const)}
        onChange={(size) => {
          styleModel(id, { size: Number(size) === SIZES.usual ? undefined : Number(size) });
        }}
      />
      <Choice
        label="Caption"
        value={own.caption ?? ""}
        options={[["", "Name"], ["$dtId", "Id"], ...captions.map((one) => [one, one] as const)]}
        onChange={(caption) => styleModel(id, { caption: caption === "" ? undefined : caption })}
      />
      <Reset
        isDisabled={Object.keys(own).length === 0}
        onPress={() =>
          styleModel(id, { color: undefined, icon: undefined, size: undefined, caption: undefined })
        }
      />
    </Swatch>
  );
}

interface OfModel {
  id: string;
  index: ModelIndex;
  swatch: ReactNode;
}

/** The colour of the relationships of a name. */
export function StyleOfRelationship({ name, index }: { name: string; index: ModelIndex }) {
  const own = useStyle((state) => memberOf(state.style.relationships, name));
  const styleRelationship = useStyle((state) => state.styleRelationship);
  const color = own?.color ?? index.relationshipColor(name);
  const swatch = (
    <svg className="picture-arrow" viewBox="0 0 18 10" aria-hidden style={{ color }}>
      <path d="M0 5h13M12 1l5 4-5 4z" fill="currentColor" stroke="currentColor" />
    </svg>
  );
  return (
    <Swatch name={name} swatch={swatch}>
      <ColorField
        label="Colour"
        value={color}
        onChange={(chosen) => styleRelationship(name, chosen)}
      />
      <Reset isDisabled={own === undefined} onPress={() => styleRelationship(name, undefined)} />
    </Swatch>
  );
}

function Reset({ isDisabled, onPress }: { isDisabled: boolean; onPress(): void }) {
  return (
    <Button
      className="button button-small"
      isDisabled={isDisabled}
      onPress={({ target }) => {
        // A button that becomes disabled loses the focus, and with it Escape leads nowhere.
        target.closest<HTMLElement>("[role=dialog]")?.focus();
        onPress();
      }}
    >
      <RotateCcw size={13} aria-hidden /> Reset
    </Button>
  );
}

interface ColorProps {
  label: string;
  value: string;
  onChange(color: string): void;
}

export function ColorField({ label, value, onChange }: ColorProps) {
  return (
    <label className="picture-field">
      <span>{label}</span>
      <input type="color" value={value} onChange={(event) => onChange(event.target.value)} />
    </label>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  /** Values with their words. */
  options: readonly (readonly [value: string, word: string])[];
  onChange(value: string): void;
}

export function Choice({ label, value, options, onChange }: ChoiceProps) {
  return (
    <label className="picture-field">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.target.value)}>
        {options.map(([one, word]) => (
          <option key={one} value={one}>
            {word}
          </option>
        ))}
      </select>
    </label>
  );
}

interface TextProps {
  label: string;
  value: string;
  onChange(value: string): void;
  isNumber?: boolean;
}

export function TextChoice({ label, value, onChange, isNumber = false }: TextProps) {
  return (
    <label className="picture-field">
      <span>{label}</span>
      <input
        className="react-aria-Input"
        type={isNumber ? "number" : "text"}
        step="any"
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  );
}
