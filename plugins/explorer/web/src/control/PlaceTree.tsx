import { Building2, ChevronRight, FolderKanban } from "lucide-react";
import { useEffect, useRef } from "react";
import { Button, Collection, Tree, TreeItem, TreeItemContent } from "react-aria-components";

import { StatusDot } from "./Status";
import type { Tenants } from "./data";
import { parsePlace, renderPlace, type Place } from "./place";
import type { ResourceStatus } from "../api/control";

interface Item {
  key: string;
  name: string;
  kind: Place["type"];
  status?: ResourceStatus;
  items: Item[];
}

interface Props {
  tenants: Tenants;
  place: Place | null;
  onChoose(place: Place): void;
}

/** Organizations, in them projects, in them resources. */
export function PlaceTree({ tenants, place, onChoose }: Props) {
  const items = buildItems(tenants);
  const tree = useRef<HTMLDivElement>(null);
  const selected = place === null ? null : renderPlace(place);
  const isComplete = tenants.unread.size === 0;
  // Whoever comes by a link sees where it has led to, and that what comes late has not moved it.
  useEffect(() => {
    const frame = requestAnimationFrame(() =>
      tree.current?.querySelector("[data-selected]")?.scrollIntoView({ block: "nearest" }),
    );
    return () => cancelAnimationFrame(frame);
  }, [selected, isComplete]);
  return (
    <Tree
      ref={tree}
      aria-label="Organizations, projects and resources"
      className="control-tree"
      items={items}
      selectionMode="single"
      selectionBehavior="replace"
      disallowEmptySelection
      selectedKeys={selected === null ? [] : [selected]}
      onSelectionChange={(keys) => {
        const [first] = keys as Set<string>;
        const chosen = parsePlace(first ?? null);
        if (chosen !== null) onChoose(chosen);
      }}
      defaultExpandedKeys={items.flatMap((one) => [one.key, ...one.items.map((two) => two.key)])}
    >
      {renderItem}
    </Tree>
  );
}

function renderItem(item: Item) {
  return (
    <TreeItem id={item.key} textValue={item.name} className="control-tree-item">
      <TreeItemContent>
        {({ hasChildItems }) => (
          <>
            {hasChildItems ? (
              <Button slot="chevron" className="control-tree-chevron">
                <ChevronRight size={14} aria-hidden />
              </Button>
            ) : (
              <span className="control-tree-chevron" />
            )}
            {item.kind === "organization" && <Building2 size={15} aria-hidden />}
            {item.kind === "project" && <FolderKanban size={15} aria-hidden />}
            {item.status !== undefined && <StatusDot status={item.status} />}
            <span className="control-tree-name">{item.name}</span>
          </>
        )}
      </TreeItemContent>
      <Collection items={item.items}>{renderItem}</Collection>
    </TreeItem>
  );
}

function buildItems({ organizations, projects, resources }: Tenants): (Item & { id: string })[] {
  const make = (place: Place, name: string, more: Partial<Item> = {}): Item & { id: string } => {
    const key = renderPlace(place);
    return { id: key, key, name, kind: place.type, items: [], ...more };
  };
  return organizations.map(({ organization_id: id, name }) =>
    make({ type: "organization", id }, name, {
      items: projects
        .filter((one) => one.organization_id === id)
        .map((project) =>
          make({ type: "project", id: project.project_id }, project.name, {
            items: resources
              .filter((one) => one.project_id === project.project_id)
              .map((one) =>
                make(
                  { type: "resource", projectId: one.project_id, id: one.resource_id },
                  one.name,
                  { status: one.status },
                ),
              ),
          }),
        ),
    }),
  );
}
