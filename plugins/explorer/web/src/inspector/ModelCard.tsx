import { ModelLink } from "../models/Contents";
import { describeSchema } from "../models/schemaText";
import { useModels } from "../models/useModels";

/** A model in short; its link leads to all of it. */
export function ModelCard({ id }: { id: string }) {
  const { index } = useModels();
  const model = index.interfaces.get(id);
  return (
    <>
      <header className="inspector-header">
        <h2>{index.label(id)}</h2>
        <p className="inspector-facts">
          <ModelLink id={id} index={index} />
          <code>{id}</code>
        </p>
      </header>
      {model === undefined ? (
        <p className="inspector-none muted">This model is not stored.</p>
      ) : (
        <dl className="inspector-contents">
          {model.contents.map((one) => (
            <div key={one.name}>
              <dt>{one.name}</dt>
              <dd className="muted">
                {one.kind === "Relationship"
                  ? `relationship to ${one.target === undefined ? "any twin" : index.label(one.target)}`
                  : `${one.kind === "Property" ? "" : `${one.kind.toLowerCase()}: `}${describeSchema(one.schema, true)}`}
              </dd>
            </div>
          ))}
        </dl>
      )}
    </>
  );
}
