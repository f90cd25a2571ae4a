/** A time of the service, short; the whole of it as its title. */
export function Moment({ title, value }: { title: string; value: string }) {
  const at = new Date(value);
  if (Number.isNaN(at.getTime())) return <span className="muted">{value}</span>;
  return (
    <time dateTime={value} title={`${title} ${value}`}>
      {title === "Measured" && "measured "}
      {writeMoment(at, new Date())}
    </time>
  );
}

/** The time of a moment of today, else the day too. */
export function writeMoment(at: Date, now: Date): string {
  const today = at.toDateString() === now.toDateString();
  return today
    ? at.toLocaleTimeString([], { timeStyle: "short" })
    : at.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}
