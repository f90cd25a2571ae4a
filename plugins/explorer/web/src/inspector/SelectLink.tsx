import { Button } from "react-aria-components";

import { useSelection, type Selected } from "../app/selection";
import { showText } from "../app/showText";

/** Selects what it names. */
export function SelectLink({ to, children }: { to: Selected; children: string }) {
  const select = useSelection((state) => state.select);
  return (
    <Button className="inspector-link" onPress={() => select(to)}>
      <span title={to.id === children ? undefined : to.id}>{showText(children)}</span>
    </Button>
  );
}
