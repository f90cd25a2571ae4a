/** The view is made here. */
export default function QueryView() {
  return <section aria-label="QueryView" />;
}
