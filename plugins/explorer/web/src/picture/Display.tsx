import { List, Palette } from "lucide-react";
import { useState } from "react";

import { useIsNarrow } from "../app/media";
import { WordToggle } from "./WordButton";

/** How a picture is shown: drawn or as lists, with its legend or without. */
export interface Display {
  asList: boolean;
  setAsList(asList: boolean): void;
  legend: boolean;
  setLegend(legend: boolean): void;
}

export function useDisplay(): Display {
  const [asList, setAsList] = useState(false);
  const narrow = useIsNarrow();
  // On a phone it would cover half of the picture: there it has to be asked for.
  const [asked, setLegend] = useState<boolean | null>(null);
  return { asList, setAsList, legend: asked ?? !narrow, setLegend };
}

interface Props {
  display: Display;
  /** What the legend shows or hides. */
  legendOf: string;
}

export function DisplayToggles({ display, legendOf }: Props) {
  return (
    <>
      <WordToggle
        icon={Palette}
        label="Legend"
        tip={`Legend: ${legendOf}, to show or hide`}
        isSelected={display.legend}
        onChange={display.setLegend}
      />
      <WordToggle
        icon={List}
        label="List"
        tip="List: the same as tables"
        isSelected={display.asList}
        onChange={display.setAsList}
      />
    </>
  );
}
