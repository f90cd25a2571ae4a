/** The whole page: session, frame, views. */
export function App() {
  return <main />;
}
