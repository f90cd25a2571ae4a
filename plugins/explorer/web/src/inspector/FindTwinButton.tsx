import { Search } from "lucide-react";
import { Button } from "react-aria-components";

import { openFinder } from "../app/sheet";
import { useMayFind } from "./useMayFind";

/** Opens the sheet of a phone to find a twin in, for those who may. */
export function FindTwinButton({ className }: { className: string }) {
  if (!useMayFind()) return null;
  return (
    <Button aria-label="Find a twin" className={className} onPress={openFinder}>
      <Search size={14} aria-hidden />
    </Button>
  );
}
