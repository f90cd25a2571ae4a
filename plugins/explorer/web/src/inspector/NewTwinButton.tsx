import { Plus } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { Button } from "react-aria-components";

import { useSession } from "../session/session";

// PERF: the form comes with the inspector, which has the same fields: no view waits for them.
const NewTwin = lazy(() => import("./Inspector").then((loaded) => ({ default: loaded.NewTwin })));

interface Props {
  /** The model to begin with. */
  model?: string;
  className: string;
}

/** Opens the form for a new twin, for those who may make one. */
export function NewTwinButton({ model, className }: Props) {
  const { may } = useSession();
  const [isOpen, setOpen] = useState(false);
  if (!may("digitaltwins/write") || !may("models/read")) return null;
  return (
    <>
      <Button aria-label="New twin" className={className} onPress={() => setOpen(true)}>
        <Plus size={14} aria-hidden /> <span>New twin</span>
      </Button>
      {isOpen && (
        <Suspense>
          <NewTwin {...(model === undefined ? {} : { model })} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
