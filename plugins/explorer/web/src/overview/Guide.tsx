import { X } from "lucide-react";
import { Button, Link } from "react-aria-components";

import { routeOf } from "../app/addresses";
import { usePreferences } from "../app/preferences";
import { linkToLocation } from "../locations/links";
import { useContainment } from "../locations/useContainment";
import type { Level } from "../locations/read";
import type { ModelIndex } from "../models/index";
import { buildSamples } from "../query/samples";
import { renderLink } from "../query/share";
import { useSession } from "../session/session";

/** Five steps for whoever is here for the first time, until they are put away. */
export function Guide({ index, top }: { index: ModelIndex; top: Level | null }) {
  const { graphId } = useSession();
  const { containment } = useContainment();
  const { guideOpen, setGuideOpen } = usePreferences();
  const picture = buildSamples(index).find((one) => one.text.includes("RETURN a, r, b"));
  const link = (text: string, view: "graph" | null): string =>
    routeOf(graphId, "query") + renderLink({ text, parameters: "", view });
  const [first] = top?.rows ?? [];
  const steps: [string, string, string][] = [
    ["See what there can be", "The models say what twins hold.", routeOf(graphId, "models")],
    [
      "See some of it as a graph",
      "Double click a twin for its neighbours.",
      link(picture?.text ?? "MATCH (a)-[r]->(b) RETURN a, r, b LIMIT 100", "graph"),
    ],
    [
      "Look at one twin",
      "The inspector shows its values, and takes new ones.",
      first === undefined
        ? routeOf(graphId, "query")
        : linkToLocation(graphId, containment, first.id),
    ],
    [
      "Ask a question",
      "Samples and completion help to write queries.",
      link("MATCH (n)\nRETURN n.$metadata.$model AS model, count(*) AS twins", null),
    ],
    [
      "Hand it on",
      "The address of what you see is a link for others.",
      link("MATCH (n)\nRETURN n\nLIMIT 20", null),
    ],
  ];
  if (!guideOpen) return null;
  return (
    <section className="overview-card overview-wide overview-guide" aria-label="First steps">
      <h2>First steps</h2>
      <Button
        className="button button-quiet button-icon overview-dismiss"
        aria-label="Put the first steps away"
        onPress={() => setGuideOpen(false)}
      >
        <X size={16} aria-hidden />
      </Button>
      <ol>
        {steps.map(([name, text, href]) => (
          <li key={name}>
            <Link href={href}>{name}</Link>
            <span className="muted">{text}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
