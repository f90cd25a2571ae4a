import type { ReactNode } from "react";

/** Names and what they are, in two columns. */
export function Facts({ facts }: { facts: [string, ReactNode][] }) {
  return (
    <dl className="control-facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A moment as people here write it. */
export function Moment({ at }: { at: string }) {
  if (at === "") return <>–</>;
  return <time dateTime={at}>{new Date(at).toLocaleString()}</time>;
}
