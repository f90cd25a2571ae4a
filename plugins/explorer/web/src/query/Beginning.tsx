import { Button } from "react-aria-components";

import type { Sample } from "./samples";
import { useWrite } from "./useLink";

/** What to begin with where nothing was asked yet: samples that run at a click. */
export function Beginning({ samples, onRun }: { samples: Sample[]; onRun(): void }) {
  const write = useWrite();
  const take = (sample: Sample): void => {
    write({ text: sample.text, parameters: "" });
    onRun();
  };
  return (
    <section className="query-beginning" aria-label="Samples">
      <h2>Ask the graph</h2>
      <p className="muted">
        Write a query in Cypher or in the language of Azure Digital Twins, or begin with one of
        these:
      </p>
      <ul>
        {samples.map((sample) => (
          <li key={sample.name}>
            <Button className="query-sample" onPress={() => take(sample)}>
              <strong>{sample.name}</strong>
              <code>{sample.text}</code>
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}
