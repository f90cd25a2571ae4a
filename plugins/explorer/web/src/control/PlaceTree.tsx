import { Building2, ChevronRight, FolderKanban, Globe } from "lucide-react";
import { useEffect, useRef, useState } from "react";
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
  /** Whether the platform, which all of them are in, is among them. */
  platform: boolean;
  place: Place | null;
  onChoose(place: Place): void;
}

/** The platform for those who may see it; organizations, in them projects, in them resources. */
export function PlaceTree({ tenants, platform, place, onChoose }: Props) {
  const items = [
    ...(platform ? [makeItem({ type: "platform" }, "Platform")] : []),
    ...buildItems(tenants),
  ];
  const tree = useRef<HTMLDivElement>(null);
  // Those that come later are open too, so what is kept is what somebody has closed.
  const [closed, setClosed] = useState<ReadonlySet<unknown>>(new Set());
  const parents = items.flatMap((one) => [one.key, ...one.items.map(({ key }) => key)]);
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
      expandedKeys={parents.filter((key) => !closed.has(key))}
      onExpandedChange={(open) => setClosed(new Set(parents.filter((key) => !open.has(key))))}
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
            {item.kind === "platform" && <Globe size={15} aria-hidden />}
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

type KeyedItem = Item & { id: string };

function makeItem(place: Place, name: string, more: Partial<Item> = {}): KeyedItem {
  const key = renderPlace(place);
  return { id: key, key, name, kind: place.type, items: [], ...more };
}

function buildItems({ organizations, projects, resources }: Tenants): KeyedItem[] {
  return organizations.map(({ organization_id: id, name }) =>
    makeItem({ type: "organization", id }, name, {
      items: projects
        .filter((one) => one.organization_id === id)
        .map((project) =>
          makeItem({ type: "project", id: project.project_id }, project.name, {
            items: resources
              .filter((one) => one.project_id === project.project_id)
              .map((one) =>
                makeItem(
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
