/** The view is made here. */
export default function ControlView() {
  return <section aria-label="ControlView" />;
}
