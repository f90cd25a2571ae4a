import { ChevronRight } from "lucide-react";
import { Button } from "react-aria-components";

import { useSelection } from "../app/selection";
import { showText } from "../app/showText";
import "./locations.css";
import { useWay } from "./useContainment";

/** Where a twin is, from the top down; each step selects that location. */
export function Breadcrumbs({ id }: { id: string }) {
  const select = useSelection((state) => state.select);
  const way = useWay(id);
  if (way.length === 0) return null;
  return (
    <nav aria-label="Location" className="locations-way">
      <ol>
        {way.map((one) => (
          <li key={one.id}>
            <Button
              className="inspector-link"
              aria-label={`${one.name}, ${one.id}`}
              onPress={() => select({ kind: "twin", id: one.id })}
            >
              {showText(one.name)}
            </Button>
            <ChevronRight size={12} aria-hidden />
          </li>
        ))}
      </ol>
    </nav>
  );
}
