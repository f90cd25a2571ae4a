import { Palette } from "lucide-react";
import { useMemo } from "react";
import { Button, Dialog, DialogTrigger, Popover } from "react-aria-components";

import type { Twin } from "../api/types";
import { useModels } from "../models/useModels";
import type { Contents } from "../picture/model";
import { StyleRules } from "../picture/StyleRules";
import "../picture/picture.css";

/** The rules by which values give colours: the same here and in pictures of results. */
export function ColorsButton({ twins }: { twins: ReadonlyMap<string, Twin | null> }) {
  const { index } = useModels();
  const contents = useMemo<Contents>(
    () => ({ nodes: twins, edges: new Map(), left: { nodes: 0, edges: 0 } }),
    [twins],
  );
  return (
    <DialogTrigger>
      <Button className="button button-small">
        <Palette size={14} aria-hidden /> Colours
      </Button>
      <Popover placement="bottom end">
        <Dialog aria-label="Colours" className="picture-style">
          <StyleRules contents={contents} index={index} />
        </Dialog>
      </Popover>
    </DialogTrigger>
  );
}
