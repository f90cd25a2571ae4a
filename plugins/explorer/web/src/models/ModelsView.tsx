/** The view is made here. */
export default function ModelsView() {
  return <section aria-label="ModelsView" />;
}
