import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { Button, ToggleButton, Tooltip, TooltipTrigger } from "react-aria-components";

interface Props {
  icon: LucideIcon;
  label: string;
  /** What it does, for whom the label does not say enough. */
  tip: string;
}

interface Pressed extends Props {
  onPress?(): void;
  isDisabled?: boolean;
  /** Shown as what is on now. */
  isOn?: boolean;
}

/** A button of a sign and a word; where the toolbar is narrow the word is left out. */
export function WordButton({ onPress, isDisabled = false, isOn = false, ...props }: Pressed) {
  return (
    <Tipped tip={props.tip}>
      <Button
        className="button button-small"
        aria-label={props.label}
        isDisabled={isDisabled}
        {...(onPress === undefined ? {} : { onPress })}
        {...(isOn ? { "data-selected": true } : {})}
      >
        <Face {...props} />
      </Button>
    </Tipped>
  );
}

interface Toggled extends Props {
  isSelected: boolean;
  onChange(isSelected: boolean): void;
}

/** The same for what is on or off. */
export function WordToggle({ isSelected, onChange, ...props }: Toggled) {
  return (
    <Tipped tip={props.tip}>
      <ToggleButton
        className="button button-small"
        aria-label={props.label}
        isSelected={isSelected}
        onChange={onChange}
      >
        <Face {...props} />
      </ToggleButton>
    </Tipped>
  );
}

function Face({ icon: Icon, label }: Props) {
  return (
    <>
      <Icon size={14} aria-hidden /> <span className="picture-word">{label}</span>
    </>
  );
}

function Tipped({ tip, children }: { tip: string; children: ReactNode }) {
  return (
    <TooltipTrigger delay={400}>
      {children}
      <Tooltip>{tip}</Tooltip>
    </TooltipTrigger>
  );
}
