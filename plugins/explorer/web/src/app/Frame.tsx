import { PanelRightClose, PanelRightOpen, X } from "lucide-react";
import { lazy, Suspense, useEffect, type ReactNode } from "react";
import { Button, Dialog, Modal, ModalOverlay } from "react-aria-components";
import { Group, Panel, Separator, useDefaultLayout } from "react-resizable-panels";
import { useLocation } from "wouter";

import { Forms } from "../inspector/Forms";
import { useForms } from "../inspector/forms";
import { DraftGuard, Unsaved } from "../inspector/Unsaved";
import { LiveConnection } from "../live/LiveConnection";
import { useSession } from "../session/session";
import { Boundary } from "./Boundary";
import { routeOf } from "./addresses";
import { Rail } from "./Rail";
import { Waiting } from "./Waiting";
import "./frame.css";
import { useIsNarrow } from "./media";
import { usePreferences } from "./preferences";
import { useSelection, type Selected } from "./selection";
import { useSelectionAddress } from "./selectionAddress";
import type { View } from "./views";

const Inspector = lazy(() => import("../inspector/Inspector"));

/** Navigation at the left, the view, what is selected at the right; stacked where it is narrow. */
export function Frame({ view }: { view: View }) {
  const narrow = useIsNarrow();
  const { graphName } = useSession();
  useSelectionAddress(view.inspected);
  useEffect(() => {
    document.title = `${view.name} · ${graphName} · twinframe`;
  }, [view.name, graphName]);
  const shown = (
    <main className="frame-view" id="view" tabIndex={-1} aria-label={view.name}>
      <Boundary key={view.path} name={`The view ${view.name}`}>
        <Suspense fallback={<Waiting />}>
          <view.component />
        </Suspense>
      </Boundary>
    </main>
  );
  return (
    <div className="frame">
      <a className="frame-skip" href="#view" onClick={skipToView}>
        Skip to the view
      </a>
      <LiveConnection />
      <DraftGuard />
      <Rail current={view} />
      <Forms />
      {narrow ? <Narrow>{shown}</Narrow> : <Wide inspected={view.inspected}>{shown}</Wide>}
    </div>
  );
}

// NOTE: `#view` alone would be taken relative to <base href>, which is another page.
function skipToView(event: { preventDefault(): void }): void {
  event.preventDefault();
  document.getElementById("view")?.focus();
}

function Wide({ children, inspected }: { children: ReactNode; inspected: boolean }) {
  const { inspectorOpen, setInspectorOpen } = usePreferences();
  const selected = useSelection((state) => state.selected);
  const layout = useDefaultLayout({ id: "twinframe-explorer-frame", storage: localStorage });
  useEffect(() => {
    if (selected !== null) usePreferences.getState().setInspectorOpen(true);
  }, [selected]);
  if (!inspected) {
    return (
      <div className="frame-alone">
        {children}
        <UnsavedSign elsewhere />
      </div>
    );
  }
  if (!inspectorOpen) {
    return (
      <div className="frame-alone">
        {children}
        <UnsavedSign />
        <Button
          className="button button-quiet button-icon frame-open"
          aria-label="Show the inspector"
          onPress={() => setInspectorOpen(true)}
        >
          <PanelRightOpen size={16} aria-hidden />
        </Button>
      </div>
    );
  }
  return (
    <Group
      className="frame-panels"
      {...(layout.defaultLayout === undefined ? {} : { defaultLayout: layout.defaultLayout })}
      onLayoutChanged={layout.onLayoutChanged}
    >
      <Panel id="view-panel" minSize={320} className="frame-panel">
        {children}
      </Panel>
      <Separator className="frame-separator" aria-label="Width of the inspector" />
      <Panel
        id="inspector-panel"
        minSize={260}
        maxSize="60"
        defaultSize={360}
        groupResizeBehavior="preserve-pixel-size"
        className="frame-panel"
      >
        <div className="frame-inspector">
          <Button
            className="button button-quiet button-icon frame-close"
            aria-label="Hide the inspector"
            onPress={() => setInspectorOpen(false)}
          >
            <PanelRightClose size={16} aria-hidden />
          </Button>
          <Inspected />
        </div>
      </Panel>
    </Group>
  );
}

/** On a phone what is selected comes up as a sheet over the view. */
function Narrow({ children }: { children: ReactNode }) {
  const { selected, select } = useSelection();
  // NOTE: a sheet that comes up later, as where a phone is turned, would lie over the form.
  const writing = useForms((state) => state.open !== null);
  return (
    <div className="frame-alone">
      {children}
      <UnsavedSign />
      <ModalOverlay
        className="sheet-overlay"
        isDismissable
        isOpen={selected !== null && !writing}
        onOpenChange={(open) => {
          if (!open) select(null);
        }}
      >
        <Modal className="sheet">
          <Dialog className="sheet-dialog" aria-label="What is selected">
            <div className="frame-inspector">
              <Button
                className="button button-quiet button-icon frame-close"
                aria-label="Close"
                onPress={() => select(null)}
              >
                <X size={16} aria-hidden />
              </Button>
              <Inspected />
            </div>
          </Dialog>
        </Modal>
      </ModalOverlay>
    </div>
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

function Inspected() {
  return (
    <Boundary name="The inspector">
      <Suspense fallback={<Waiting />}>
        <Inspector />
      </Suspense>
    </Boundary>
  );
}
