import { ChevronDown, Network } from "lucide-react";
import { Button, Menu, MenuItem, MenuTrigger, Popover, Text } from "react-aria-components";
import { useLocation } from "wouter";

import { OWN_GRAPH, routeOf, START } from "../app/addresses";
import { OWN_NAME, useHostedGraphs } from "./graphs";
import { useSession } from "./session";

/** Which graph is looked at, and the others that there are. */
export function GraphChooser() {
  const { configuration, control, graphId, graphName } = useSession();
  const [path, navigate] = useLocation();
  const hosted = useHostedGraphs(configuration.hosting ? control : null);
  const label = (
    <>
      <Network size={20} aria-hidden />
      <span className="rail-label rail-graph">{graphName}</span>
    </>
  );
  if (hosted.length === 0) {
    return (
      <div className="rail-item rail-brand" title="twinframe explorer">
        {label}
      </div>
    );
  }
  const view = path.split("/")[2] ?? START;
  return (
    <MenuTrigger>
      <Button className="rail-item rail-brand" aria-label={`Graph: ${graphName}. Choose another`}>
        {label}
        <ChevronDown size={12} aria-hidden />
      </Button>
      <Popover placement="right top">
        <Menu
          aria-label="Graphs"
          selectionMode="single"
          disallowEmptySelection
          selectedKeys={[graphId]}
          onAction={(id) => navigate(routeOf(String(id), view))}
        >
          <MenuItem id={OWN_GRAPH} textValue={OWN_NAME}>
            <Text slot="label">{OWN_NAME}</Text>
            <Text slot="description">Its own graph</Text>
          </MenuItem>
          {hosted.map((one) => (
            <MenuItem key={one.id} id={one.id} textValue={one.name}>
              <Text slot="label" className="graph-name">
                {one.name}
              </Text>
              <Text slot="description">{one.place}</Text>
            </MenuItem>
          ))}
        </Menu>
      </Popover>
    </MenuTrigger>
  );
}
