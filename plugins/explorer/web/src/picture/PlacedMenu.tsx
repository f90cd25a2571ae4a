import { useRef, type ReactNode } from "react";
import { Popover } from "react-aria-components";

export interface MenuPlace {
  /** Of the twin, or the key of the relationship. */
  id: string;
  x: number;
  y: number;
}

interface Props {
  place: MenuPlace | null;
  onClose(): void;
  children(id: string): ReactNode;
}

/** A menu of something in the picture, where the pointer is. */
export function PlacedMenu({ place, onClose, children }: Props) {
  const anchor = useRef<HTMLSpanElement>(null);
  return (
    <>
      <span
        ref={anchor}
        className="picture-anchor"
        style={{ left: place?.x ?? 0, top: place?.y ?? 0 }}
      />
      <Popover
        key={place === null ? "" : `${place.id}\n${place.x}\n${place.y}`}
        triggerRef={anchor}
        placement="bottom start"
        isOpen={place !== null}
        onOpenChange={(open) => {
          if (!open) onClose();
        }}
      >
        {place !== null && children(place.id)}
      </Popover>
    </>
  );
}
