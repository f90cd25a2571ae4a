import { GridLayout, useContainerWidth, type Layout } from "react-grid-layout";
import "react-grid-layout/css/styles.css";

import { useIsNarrow } from "../app/media";
import { COLUMNS, type Tile } from "./content";
import { inOrder, layoutOf, placeTiles } from "./places";
import { TileView, type TileActions } from "./TileView";

const ROW_HEIGHT = 56;
const GAP = 12;

interface Props {
  tiles: readonly Tile[];
  /** Null while the dashboard is only looked at. */
  actions: TileActions | null;
  onPlace(tiles: Tile[]): void;
}

/** The tiles in twelve columns; below each other on a phone. */
export function Grid({ tiles, actions, onPlace }: Props) {
  const narrow = useIsNarrow();
  const { width, containerRef, mounted } = useContainerWidth();
  const sorted = inOrder(tiles);
  if (narrow) {
    return (
      <div className="board-stack">
        {sorted.map((tile) => (
          <div key={tile.id} style={{ minHeight: heightOf(tile) }}>
            <TileView tile={tile} actions={actions} isStacked />
          </div>
        ))}
      </div>
    );
  }
  const place = (layout: Layout): void => onPlace(placeTiles(tiles, layout));
  const isEditing = actions !== null;
  return (
    <div ref={containerRef} className="board-grid" data-editing={isEditing || undefined}>
      {mounted && (
        <GridLayout
          width={width}
          layout={layoutOf(sorted)}
          gridConfig={{
            cols: COLUMNS,
            rowHeight: ROW_HEIGHT,
            margin: [GAP, GAP],
            containerPadding: [0, 0],
          }}
          dragConfig={{ enabled: isEditing, handle: ".tile-head", cancel: ".tile-tools" }}
          resizeConfig={{ enabled: isEditing, handles: ["se"] }}
          onDragStop={place}
          onResizeStop={place}
        >
          {sorted.map((tile) => (
            <div key={tile.id}>
              <TileView tile={tile} actions={actions} isStacked={false} />
            </div>
          ))}
        </GridLayout>
      )}
    </div>
  );
}

function heightOf({ place }: Tile): number {
  return place.h * (ROW_HEIGHT + GAP) - GAP;
}
