/** What is selected, with its properties; edits go out from here. */
export default function Inspector() {
  return <aside aria-label="Inspector" />;
}
