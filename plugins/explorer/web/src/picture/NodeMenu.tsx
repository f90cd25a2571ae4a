import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState, type ComponentProps } from "react";
import { Collection, Header, Menu, MenuItem, MenuSection, Separator } from "react-aria-components";

import type { Twin } from "../api/types";
import { useNotices } from "../app/notices";
import { useSelection } from "../app/selection";
import { DeleteTwin } from "../inspector/DeleteTwin";
import { useSession } from "../session/session";
import { collapse, expand, hideTwins, showPath } from "./actions";
import { countKinds } from "./ask";
import { useDrawing } from "./drawing";
import { labelOf } from "./model";
import { PlacedMenu, type MenuPlace } from "./PlacedMenu";
import { usePicture } from "./store";

// PERF: with the frame of its form; few open it.
const ExpandDialog = lazy(() => import("./ExpandDialog"));

interface MenuProps {
  place: MenuPlace | null;
  /** Twins of a folded picture whose contents are drawn; null where nothing is folded. */
  open: ReadonlySet<string> | null;
  onClose(): void;
}

/** What may be done with one twin of the picture, where the pointer is. */
export function NodeMenu({ place, open, onClose }: MenuProps) {
  const [deleted, setDeleted] = useState<Twin | null>(null);
  const [expanded, setExpanded] = useState<Expanded | null>(null);
  return (
    <>
      <PlacedMenu place={place} onClose={onClose}>
        {(id) => (
          <Actions
            id={id}
            isOpen={open?.has(id) ?? false}
            onClose={onClose}
            onDelete={setDeleted}
            onExpand={setExpanded}
          />
        )}
      </PlacedMenu>
      {expanded !== null && (
        <Suspense>
          <ExpandDialog {...expanded} onClose={() => setExpanded(null)} />
        </Suspense>
      )}
      {deleted !== null && <DeleteTwin twin={deleted} onClose={() => setDeleted(null)} />}
    </>
  );
}

type Expanded = Pick<ComponentProps<typeof ExpandDialog>, "id" | "label" | "kinds">;

interface ActionsProps {
  id: string;
  /** Whether its contents are drawn, and may be folded. */
  isOpen: boolean;
  onClose(): void;
  /** Ask whether this twin, as it is by now, is to be deleted. */
  onDelete(twin: Twin): void;
  /** Ask how far it is to be expanded. */
  onExpand(expanded: Expanded): void;
}

function Actions({ id, isOpen, onClose, onDelete, onExpand }: ActionsProps) {
  const { graph, graphId, may } = useSession();
  const { sayError } = useNotices();
  const select = useSelection((state) => state.select);
  const { contents, chosen, pinned, hiding, pin, hide, remove, choose, fold } = usePicture();
  const { data: kinds, error } = useQuery({
    queryKey: ["picture-kinds", graphId, id],
    queryFn: () => countKinds(graph, id),
    staleTime: 0,
  });
  const other = chosen.find((one) => one !== id);
  const label = labelOf(id, contents.nodes.get(id));
  const focused = hiding.focus?.has(id) ?? false;
  const act: Record<string, () => void> = {
    inspect: () => {
      choose([id]);
      select({ kind: "twin", id });
    },
    relate: () => useDrawing.setState({ ends: { source: id } }),
    delete: () => void graph.readTwin(id).then(onDelete, sayError),
    expand: () => void expand(graph, id),
    steps: () => onExpand({ id, label, kinds: kinds ?? [] }),
    collapse: () => collapse(id),
    fold: () => fold(id),
    focus: () => hide({ focus: focused ? null : new Set([id]) }),
    pin: () => pin([id], !pinned.has(id)),
    hide: () => hideTwins([id]),
    remove: () => remove([id]),
    path: () => {
      if (other !== undefined) void showPath(graph, other, id);
    },
  };
  const onAction = (key: string): void => {
    onClose();
    const [direction, ...name] = key.split("/");
    if (direction === "in" || direction === "out") {
      void expand(graph, id, direction, name.join("/"));
    } else act[key]?.();
  };
  return (
    // eslint-disable-next-line jsx-a11y/no-autofocus -- a menu takes the focus when it opens.
    <Menu aria-label={label} autoFocus="first" onAction={(key) => onAction(String(key))}>
      <MenuSection>
        <Header className="menu-header">{label}</Header>
        <MenuItem id="inspect">Show it in the inspector</MenuItem>
        <MenuItem id="expand">Expand all neighbours</MenuItem>
        <MenuItem id="steps">Expand by steps …</MenuItem>
        <Collection
          items={(kinds ?? []).map((one) => ({ ...one, id: `${one.direction}/${one.name}` }))}
        >
          {(kind) => (
            <MenuItem textValue={`Expand ${kind.name}, ${kind.direction}`}>
              <span slot="label" className="picture-kind">
                {kind.direction === "in" ? `← ${kind.name}` : `${kind.name} →`}
              </span>
              <kbd>{kind.count.toLocaleString()}</kbd>
            </MenuItem>
          )}
        </Collection>
        <MenuItem id="collapse">Collapse what hangs on it alone</MenuItem>
        {isOpen && <MenuItem id="fold">Fold what is in it</MenuItem>}
      </MenuSection>
      {error !== null && (
        <MenuSection>
          <Header className="menu-header">{error.message}</Header>
        </MenuSection>
      )}
      <Separator className="picture-separator" />
      <MenuSection aria-label="In the picture">
        <MenuItem id="path" isDisabled={other === undefined}>
          {other === undefined
            ? "Find a path: choose another twin first"
            : `Find a path from ${labelOf(other, contents.nodes.get(other))}`}
        </MenuItem>
        <MenuItem id="focus">
          {focused ? "Show the others again" : "Show it and neighbours only"}
        </MenuItem>
        <MenuItem id="pin">{pinned.has(id) ? "Unpin it" : "Pin it here"}</MenuItem>
        <MenuItem id="hide">Hide it</MenuItem>
        <MenuItem id="remove">Take it out of the picture</MenuItem>
      </MenuSection>
      {(may("digitaltwins/relationships/write") || may("digitaltwins/delete")) && (
        <Separator className="picture-separator" />
      )}
      <MenuSection aria-label="In the graph">
        {may("digitaltwins/relationships/write") && <MenuItem id="relate">Relate it to …</MenuItem>}
        {may("digitaltwins/delete") && <MenuItem id="delete">Delete it …</MenuItem>}
      </MenuSection>
    </Menu>
  );
}
