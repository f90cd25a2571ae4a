import type { ReactNode } from "react";
import { Group, Panel, Separator, useDefaultLayout } from "react-resizable-panels";

interface Props {
  above: ReactNode;
  below: ReactNode;
}

/**
 * Two parts of the view, whose heights one sets by mouse or arrow keys. On a phone they are stacked
 * by the styles alone, so that both stay as they are when it is turned.
 */
export function Split({ above, below }: Props) {
  const layout = useDefaultLayout({ id: "twinframe-explorer-query", storage: localStorage });
  return (
    <Group
      className="query-split"
      orientation="vertical"
      {...(layout.defaultLayout === undefined ? {} : { defaultLayout: layout.defaultLayout })}
      onLayoutChanged={layout.onLayoutChanged}
    >
      <Panel
        id="editor-panel"
        minSize={110}
        defaultSize={140}
        groupResizeBehavior="preserve-pixel-size"
        className="query-above"
      >
        {above}
      </Panel>
      <Separator className="query-separator" aria-label="Height of the editor" />
      <Panel id="results-panel" minSize={160} className="query-below">
        {below}
      </Panel>
    </Group>
  );
}
