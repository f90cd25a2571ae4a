import { json } from "@codemirror/lang-json";
import { Copy } from "lucide-react";
import { Button, Link, Tab, TabList, TabPanel, Tabs } from "react-aria-components";

import { renderJson } from "../api/json";
import { routeOf } from "../app/addresses";
import { useNotices } from "../app/notices";
import { Code } from "../code/Code";
import { NewTwinButton } from "../inspector/NewTwinButton";
import { renderLink } from "../query/share";
import { useSession } from "../session/session";
import { Contents, ModelLink } from "./Contents";
import type { Counts } from "./counts";
import type { InterfaceInfo, ModelIndex } from "./index";
import { ModelActions } from "./ModelActions";

const JSON_LANGUAGE = json();

interface Props {
  model: InterfaceInfo;
  index: ModelIndex;
  counts: Counts | null;
}

/** One interface: what it is, has and extends, and its document. */
export function ModelDetail({ model, index, counts }: Props) {
  const { graphId } = useSession();
  const { say, sayError } = useNotices();
  const text = renderJson(model.document, 2);
  const copy = (what: string, value: string) => {
    navigator.clipboard.writeText(value).then(() => say(`${what} is copied.`), sayError);
  };
  const label = index.queryLabel(model.id);
  const query = `MATCH (t:${/^[A-Za-z_][A-Za-z0-9_]*$/.test(label) ? label : `\`${model.id}\``}) RETURN t`;
  return (
    <article className="models-detail" aria-label={model.displayName}>
      <header className="models-header">
        <div>
          <h2>
            <span className="models-dot" style={{ background: index.color(model.id) }} />{" "}
            {model.displayName}
            {model.decommissioned && <span className="models-tag">decommissioned</span>}
          </h2>
          <p className="models-id">
            <code>{model.id}</code>
            <Button
              className="button button-quiet button-icon button-small"
              aria-label="Copy the DTMI"
              onPress={() => copy("The DTMI", model.id)}
            >
              <Copy size={13} aria-hidden />
            </Button>
          </p>
          {model.description && <p>{model.description}</p>}
        </div>
        <div className="models-actions">
          <Link
            className="button"
            href={
              routeOf(graphId, "query") + renderLink({ text: query, parameters: "", view: null })
            }
          >
            Query its twins{counts === null ? "" : ` (${counts.family(model.id).toLocaleString()})`}
          </Link>
          {!model.decommissioned && <NewTwinButton model={model.id} className="button" />}
          <ModelActions model={model} index={index} twins={counts?.own(model.id) ?? null} />
        </div>
      </header>
      <Lineage model={model} index={index} />
      <Tabs className="models-tabs" key={model.id}>
        <TabList aria-label="Views of the model">
          <Tab id="contents">Contents</Tab>
          <Tab id="json">JSON</Tab>
        </TabList>
        <TabPanel id="contents" className="models-panel">
          <Contents model={model} index={index} />
        </TabPanel>
        <TabPanel id="json" className="models-panel models-json">
          <Button
            className="button button-small models-copy"
            onPress={() => copy("The document", text)}
          >
            <Copy size={13} aria-hidden /> Copy
          </Button>
          <Code label={`DTDL of ${model.id}`} value={text} extensions={JSON_LANGUAGE} folding />
        </TabPanel>
      </Tabs>
    </article>
  );
}

/** What it extends, nearest first, what extends it, and what leads to it. */
function Lineage({ model, index }: { model: InterfaceInfo; index: ModelIndex }) {
  const refers = [...index.interfaces.values()].filter((one) =>
    one.own.some((content) => content.target === model.id || content.schema === model.id),
  );
  const lines: [string, string[]][] = [
    ["Extends", index.ancestors(model.id)],
    ["Extended by", index.heirs(model.id)],
    ["Referred to by", refers.map((one) => one.id)],
  ];
  const shown = lines.filter(([, ids]) => ids.length > 0);
  if (shown.length === 0) return null;
  return (
    <dl className="models-lineage">
      {shown.map(([title, ids]) => (
        <div key={title}>
          <dt>{title}</dt>
          <dd>
            {ids.map((id) => (
              <ModelLink key={id} id={id} index={index} />
            ))}
          </dd>
        </div>
      ))}
    </dl>
  );
}
