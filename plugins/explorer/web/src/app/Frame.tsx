import { BulkForm } from "../bulk/BulkForm";
import { PanelLeftClose, PanelRightClose, PanelRightOpen, X } from "lucide-react";
import { Suspense, useEffect, type KeyboardEvent, type MouseEvent } from "react";
import { createPortal } from "react-dom";
import { Button } from "react-aria-components";
import { Group, Panel, Separator, useDefaultLayout } from "react-resizable-panels";
import { useLocation } from "wouter";

import { Forms } from "../inspector/Forms";
import { DraftGuard, Unsaved } from "../inspector/Unsaved";
import { LiveConnection } from "../live/LiveConnection";
import { useSession } from "../session/session";
import { Boundary } from "./Boundary";
import { routeOf } from "./addresses";
import { Keys } from "./Keys";
import { latePart } from "./parts";
import { Rail } from "./Rail";
import { Waiting } from "./Waiting";
import "./frame.css";
import { setInspectorShown, useInspectorShown } from "./inspectorShown";
import { useIsNarrow } from "./media";
import { closeErrors } from "./notices";
import { useLocationsOpen, usePreferences } from "./preferences";
import { useSelection, type Selected } from "./selection";
import { useSelectionAddress } from "./selectionAddress";
import { closeSheet, useMovable, useSheet, useSheetFocus } from "./sheet";
import { TimeBar } from "../time/TimeBar";
import { useMomentAddress } from "../time/useMomentAddress";
import type { View } from "./views";

const Inspector = latePart(() => import("../inspector/Inspector"));
const LocationTree = latePart(() => import("../locations/LocationTree"));

/**
 * Navigation at the left, the view, what is selected at the right; stacked where it is narrow, with
 * what is selected as a sheet. NOTE: one tree for all widths, so that nothing that is open, such as
 * a form, goes when a window is made narrower or a phone is turned.
 */
export function Frame({ view }: { view: View }) {
  const narrow = useIsNarrow();
  const { graphName } = useSession();
  const inspectorShown = useInspectorShown(view.pictures ?? false);
  const selected = useSelection((state) => state.selected);
  const finding = useSheet((state) => state.finding);
  useSelectionAddress(view.inspected);
  useMomentAddress();
  useEffect(() => {
    document.title = `${view.name} · ${graphName} · twinframe`;
  }, [view.name, graphName]);
  useEffect(() => closeErrors, [view.path]);
  useEffect(() => {
    if (selected !== null) usePreferences.getState().setInspectorOpen(true);
  }, [selected]);
  const panel = !narrow && view.inspected && inspectorShown;
  const sheet = narrow && (selected !== null || finding);
  const locating = useSheet((state) => state.locating) && narrow && !sheet;
  const [place, host] = useMovable("frame-place");
  const content = useSheetFocus(sheet);
  return (
    <>
      {/* What is below a sheet is out of reach, as below any dialog. */}
      <div className="frame" inert={sheet || locating}>
        <a className="frame-skip" href="#view" onClick={skipToView}>
          Skip to the view
        </a>
        <LiveConnection />
        <DraftGuard />
        <Keys view={view} narrow={narrow} />
        <Rail current={view} />
        <Forms />
        <BulkForm />
        <Panels view={view} host={panel ? host : null} />
      </div>
      {sheet && (
        <>
          <div className="sheet-ground" aria-hidden onClick={closeSheet} />
          <div
            ref={host}
            className="sheet"
            role="dialog"
            aria-modal
            aria-label={selected === null ? "Find a twin" : "What is selected"}
          />
        </>
      )}
      {locating && <LocationSheet />}
      {(panel || sheet) &&
        createPortal(
          <div ref={content} className="frame-inspector" tabIndex={-1} {...(sheet && SHEET_EVENTS)}>
            <Closer sheet={sheet} />
            <Boundary name="The inspector">
              <Suspense fallback={<Waiting />}>
                <Inspector />
              </Suspense>
            </Boundary>
          </div>,
          place,
        )}
    </>
  );
}

/** On a phone the locations are a sheet, which gives way to what is chosen there. */
function LocationSheet() {
  const close = (): void => useSheet.setState({ locating: false });
  const content = useSheetFocus(true);
  return (
    <>
      <div className="sheet-ground" aria-hidden onClick={close} />
      <div
        ref={content}
        className="sheet"
        role="dialog"
        aria-modal
        aria-label="Where things are"
        tabIndex={-1}
        {...{
          onKeyDown: (event: KeyboardEvent): void => {
            if (event.key === "Escape") close();
          },
        }}
      >
        <Button
          className="button button-quiet button-icon frame-close"
          aria-label="Close"
          onPress={close}
        >
          <X size={16} aria-hidden />
        </Button>
        <Locations onChoose={close} />
      </div>
    </>
  );
}

function Locations({ onChoose }: { onChoose?: () => void }) {
  return (
    <Boundary name="The tree of locations">
      <Suspense fallback={<Waiting />}>
        <LocationTree {...(onChoose === undefined ? {} : { onChoose })} />
      </Suspense>
    </Boundary>
  );
}

const SHEET_EVENTS = {
  onClickCapture: (event: MouseEvent<HTMLElement>): void => {
    // What a link leads to would be below the sheet. It may name what is selected: it goes last.
    if (event.target instanceof Element && event.target.closest("a[href]")) setTimeout(closeSheet);
  },
  onKeyDown: (event: KeyboardEvent<HTMLElement>): void => {
    // Those in a dialog that was opened from the sheet come here too, but are of that dialog.
    const isOwn = event.target instanceof Node && event.currentTarget.contains(event.target);
    if (event.key === "Escape" && isOwn) closeSheet();
  },
};

// NOTE: `#view` alone would be taken relative to <base href>, which is another page.
function skipToView(event: { preventDefault(): void }): void {
  event.preventDefault();
  document.getElementById("view")?.focus();
}

interface PanelsProps {
  view: View;
  /** Takes the place of the inspector; null where there is none beside the view. */
  host: ((element: HTMLElement | null) => void) | null;
}

/** The view, and beside it a panel whose width is set by mouse or arrow keys. */
function Panels({ view, host }: PanelsProps) {
  const narrow = useIsNarrow();
  const locations = useLocationsOpen() && view.inspected && !narrow;
  const layout = useDefaultLayout({
    id: "twinframe-explorer-frame",
    panelIds: [
      ...(locations ? ["locations-panel"] : []),
      "view-panel",
      ...(host === null ? [] : ["inspector-panel"]),
    ],
    storage: localStorage,
  });
  return (
    <Group
      className="frame-panels"
      {...(layout.defaultLayout === undefined ? {} : { defaultLayout: layout.defaultLayout })}
      onLayoutChanged={layout.onLayoutChanged}
    >
      {locations && (
        <>
          <Panel
            id="locations-panel"
            minSize={180}
            maxSize="40"
            defaultSize={250}
            groupResizeBehavior="preserve-pixel-size"
            className="frame-panel"
          >
            <Button
              className="button button-quiet button-icon frame-close"
              aria-label="Hide the locations"
              onPress={() => usePreferences.getState().setLocationsOpen(false)}
            >
              <PanelLeftClose size={16} aria-hidden />
            </Button>
            <Locations />
          </Panel>
          <Separator className="frame-separator" aria-label="Width of the locations" />
        </>
      )}
      <Panel id="view-panel" minSize={narrow ? 0 : 320} className="frame-panel">
        <TimeBar isMovable={view.path === "query"} />
        <main className="frame-view" id="view" tabIndex={-1} aria-label={view.name}>
          <Boundary key={view.path} name={`The view ${view.name}`}>
            <Suspense fallback={<Waiting />}>
              <view.component />
            </Suspense>
          </Boundary>
        </main>
        {host === null && <UnsavedSign elsewhere={!narrow && !view.inspected} />}
        {host === null && view.inspected && !narrow && (
          <Button
            className="button button-quiet button-icon frame-open"
            aria-label="Show the inspector"
            onPress={() => setInspectorShown(true)}
          >
            <PanelRightOpen size={16} aria-hidden />
          </Button>
        )}
      </Panel>
      {host !== null && (
        <>
          <Separator className="frame-separator" aria-label="Width of the inspector" />
          <Panel
            id="inspector-panel"
            minSize={260}
            maxSize="60"
            defaultSize={360}
            groupResizeBehavior="preserve-pixel-size"
            className="frame-panel"
          >
            <div ref={host} className="frame-place" />
          </Panel>
        </>
      )}
    </Group>
  );
}

/** Puts the inspector out of the way. */
function Closer({ sheet }: { sheet: boolean }) {
  const Icon = sheet ? X : PanelRightClose;
  return (
    <Button
      className="button button-quiet button-icon frame-close"
      aria-label={sheet ? "Close" : "Hide the inspector"}
      onPress={() => {
        if (sheet) closeSheet();
        else setInspectorShown(false);
      }}
    >
      <Icon size={16} aria-hidden />
    </Button>
  );
}

/** What is not saved, where no inspector is there to say so; leads to it, `elsewhere` if need be. */
function UnsavedSign({ elsewhere = false }: { elsewhere?: boolean }) {
  const { graphId } = useSession();
  const [, navigate] = useLocation();
  const open = (one: Selected): void => {
    if (elsewhere) navigate(routeOf(graphId, "query"));
    useSelection.getState().select(one);
    usePreferences.getState().setInspectorOpen(true);
  };
  return <Unsaved except={null} onOpen={open} />;
}
