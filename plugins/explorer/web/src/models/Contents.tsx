import { Link } from "react-aria-components";

import { routeOf } from "../app/addresses";
import { useParameters } from "../app/search";
import { useSession } from "../session/session";
import type { ContentInfo, ContentKind, InterfaceInfo, ModelIndex } from "./index";
import { describeSchema } from "./schemaText";

const KINDS: [ContentKind, string][] = [
  ["Property", "Properties"],
  ["Telemetry", "Telemetry"],
  ["Component", "Components"],
  ["Relationship", "Relationships"],
  ["Command", "Commands"],
];

/** The effective contents of an interface by kind, with the interface that each comes from. */
export function Contents({ model, index }: { model: InterfaceInfo; index: ModelIndex }) {
  if (model.contents.length === 0) {
    return <p className="models-none muted">It has no contents, neither own nor inherited ones.</p>;
  }
  return KINDS.map(([kind, title]) => {
    const contents = model.contents.filter((one) => one.kind === kind);
    if (contents.length === 0) return null;
    return (
      <section key={kind} aria-label={title}>
        <h3 className="models-kind">
          {title} <span className="muted">{contents.length}</span>
        </h3>
        <div className="models-scroll">
          <table className="models-contents">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">{kind === "Relationship" ? "Target" : "Schema"}</th>
                <th scope="col">About it</th>
                <th scope="col">From</th>
              </tr>
            </thead>
            <tbody>
              {contents.map((one) => (
                <ContentRow key={one.name} content={one} model={model} index={index} />
              ))}
            </tbody>
          </table>
        </div>
      </section>
    );
  });
}

function ContentRow(props: { content: ContentInfo; model: InterfaceInfo; index: ModelIndex }) {
  const { content, model, index } = props;
  const spoken = content.displayName?.replaceAll(" ", "").toLowerCase() ?? "";
  const named = spoken !== "" && spoken !== content.name.toLowerCase();
  return (
    <tr>
      <th scope="row">
        <code>{content.name}</code>
        {named && <div className="muted models-small">{content.displayName}</div>}
      </th>
      <td>
        <SchemaCell content={content} index={index} />
      </td>
      <td className="models-about">
        {[
          content.semanticType?.join(", "),
          content.unit,
          content.writable === false ? "not writable" : undefined,
          readMultiplicity(content),
        ]
          .filter(Boolean)
          .map((text) => (
            <span key={text} className="models-tag">
              {text}
            </span>
          ))}
        {content.description && <span className="muted">{content.description}</span>}
        {content.properties?.map((one) => (
          <div key={one.name} className="models-small">
            with <code>{one.name}</code>: {describeSchema(one.schema, true)}
          </div>
        ))}
      </td>
      <td className="models-from">
        {content.definedBy === model.id ? (
          <span className="muted">itself</span>
        ) : (
          <ModelLink id={content.definedBy} index={index} />
        )}
      </td>
    </tr>
  );
}

function SchemaCell({ content, index }: { content: ContentInfo; index: ModelIndex }) {
  if (content.kind === "Relationship") {
    if (content.target === undefined) return <span className="muted">any twin</span>;
    return <ModelLink id={content.target} index={index} />;
  }
  if (content.kind === "Component" && typeof content.schema === "string") {
    return <ModelLink id={content.schema} index={index} />;
  }
  return <span className="models-schema">{describeSchema(content.schema, true)}</span>;
}

function readMultiplicity(content: ContentInfo): string | undefined {
  const { minMultiplicity: least, maxMultiplicity: most } = content;
  if (least === undefined && most === undefined) return undefined;
  if (most === undefined) return `at least ${least}`;
  return least === undefined || least === 0 ? `at most ${most}` : `${least} to ${most}`;
}

/** A model by its name; one that is not stored is told as such. */
export function ModelLink({ id, index }: { id: string; index: ModelIndex }) {
  const { graphId } = useSession();
  const [parameters] = useParameters();
  const to = new URLSearchParams(
    parameters.get("show") === "graph" ? { show: "graph", id } : { id },
  );
  if (!index.interfaces.has(id)) return <span title={`${id} is not stored`}>{id}</span>;
  return (
    <Link className="models-link" href={routeOf(graphId, "models", to.toString())}>
      <span className="models-dot" style={{ background: index.color(id) }} />
      <span>{index.label(id)}</span>
    </Link>
  );
}
