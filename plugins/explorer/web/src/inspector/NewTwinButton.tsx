import { Plus } from "lucide-react";
import { Button } from "react-aria-components";

import { useSession } from "../session/session";
import { openForm } from "./forms";

interface Props {
  /** The model to begin with. */
  model?: string;
  className: string;
}

/** Opens the form for a new twin, for those who may make one. */
export function NewTwinButton({ model, className }: Props) {
  const { may } = useSession();
  if (!may("digitaltwins/write") || !may("models/read")) return null;
  return (
    <Button
      aria-label="New twin"
      className={className}
      onPress={() => openForm({ kind: "twin", ...(model === undefined ? {} : { model }) })}
    >
      <Plus size={14} aria-hidden /> <span>New twin</span>
    </Button>
  );
}
