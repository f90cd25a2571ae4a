import { ProgressBar } from "react-aria-components";

/** Says that something is on its way; it comes up only after a moment, so that fast answers do not flicker. */
export function Waiting({ label = "Loading" }: { label?: string }) {
  return (
    <ProgressBar isIndeterminate aria-label={label} className="waiting">
      <span className="waiting-spinner" />
      <span>{label}…</span>
    </ProgressBar>
  );
}
