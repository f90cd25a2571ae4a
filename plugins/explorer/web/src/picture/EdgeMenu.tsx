import { useState } from "react";
import { Header, Menu, MenuItem, MenuSection, Separator } from "react-aria-components";

import type { Relationship } from "../api/types";
import { useNotices } from "../app/notices";
import { useSelection } from "../app/selection";
import { ConfirmDeletion } from "../inspector/DeleteRelationship";
import { useSession } from "../session/session";
import { labelOf, readEdgeKey } from "./model";
import { PlacedMenu, type MenuPlace } from "./PlacedMenu";
import { usePicture } from "./store";

interface Props {
  place: MenuPlace | null;
  onClose(): void;
}

/** What may be done with one relationship of the picture, where the pointer is. */
export function EdgeMenu({ place, onClose }: Props) {
  const [deleted, setDeleted] = useState<Relationship | null>(null);
  return (
    <>
      <PlacedMenu place={place} onClose={onClose}>
        {(key) => <Actions edge={key} onClose={onClose} onDelete={setDeleted} />}
      </PlacedMenu>
      {deleted !== null && (
        <ConfirmDeletion relationship={deleted} onClose={() => setDeleted(null)} />
      )}
    </>
  );
}

interface ActionsProps {
  /** Its key. */
  edge: string;
  onClose(): void;
  /** Ask whether this relationship, as it is by now, is to be deleted. */
  onDelete(relationship: Relationship): void;
}

function Actions({ edge, onClose, onDelete }: ActionsProps) {
  const { graph, may } = useSession();
  const { sayError } = useNotices();
  const select = useSelection((state) => state.select);
  const { contents, hiding, hide, remove } = usePicture();
  const { sourceId, id } = readEdgeKey(edge);
  const one = contents.edges.get(edge);
  if (one === undefined) return null;
  const name = one.$relationshipName;
  const [source, target] = [one.$sourceId, one.$targetId].map((end) =>
    labelOf(end, contents.nodes.get(end)),
  );
  const act: Record<string, () => void> = {
    inspect: () => select({ kind: "relationship", sourceId, id }),
    hide: () => hide({ names: new Set([...hiding.names, name]) }),
    remove: () => remove([], [edge]),
    delete: () => void graph.readRelationship(sourceId, id).then(onDelete, sayError),
  };
  const label = `${source} – ${name} → ${target}`;
  return (
    <Menu
      aria-label={label}
      // eslint-disable-next-line jsx-a11y/no-autofocus -- a menu takes the focus when it opens.
      autoFocus="first"
      onAction={(key) => {
        onClose();
        act[key]?.();
      }}
    >
      <MenuSection>
        <Header className="menu-header">{label}</Header>
        <MenuItem id="inspect">Show it in the inspector</MenuItem>
      </MenuSection>
      <Separator className="picture-separator" />
      <MenuSection aria-label="In the picture">
        <MenuItem id="hide">Hide all {name}</MenuItem>
        <MenuItem id="remove">Take it out of the picture</MenuItem>
      </MenuSection>
      {may("digitaltwins/relationships/delete") && (
        <>
          <Separator className="picture-separator" />
          <MenuSection aria-label="In the graph">
            <MenuItem id="delete">Delete it …</MenuItem>
          </MenuSection>
        </>
      )}
    </Menu>
  );
}
