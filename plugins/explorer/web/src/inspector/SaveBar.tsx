import { Button, Disclosure, DisclosurePanel, Heading } from "react-aria-components";

import { titleOf } from "../api/errors";
import { renderJson } from "../api/json";
import { Failure } from "../app/Failure";
import { buildPatch, editable } from "./document";
import type { Draft } from "./drafts";

interface Props {
  draft: Draft;
  busy: boolean;
  error: unknown;
  /** How many fields have what is no value yet. */
  blocked: number;
  onSave(): void;
  onDiscard(): void;
}

/** What is not saved yet, on demand as the JSON Patch that will be sent. */
export function SaveBar({ draft, busy, error, blocked, onSave, onDiscard }: Props) {
  const patch = buildPatch(editable(draft.base), draft.draft);
  const count = patch.length + draft.conflicts.filter((one) => !hasPath(patch, one.path)).length;
  return (
    <section className="inspector-save" aria-label="Unsaved changes">
      {draft.conflicts.length > 0 && (
        <p className="inspector-notice inspector-notice-warning" role="status">
          Somebody else changed <Paths paths={draft.conflicts.map((one) => one.path)} /> too. Save
          shows both versions.
        </p>
      )}
      {draft.news.length > 0 && (
        <p className="inspector-notice" role="status">
          Meanwhile <Paths paths={draft.news} /> changed; what you edited is kept.
        </p>
      )}
      {error !== null && <Failure title={titleOf(error)} error={error} />}
      {blocked > 0 && (
        <p className="inspector-notice" role="status">
          {blocked === 1 ? "One field is" : `${blocked} fields are`} not right yet.
        </p>
      )}
      <div className="inspector-save-row">
        {/* What is no value yet is nothing to send. */}
        {count === 0 ? (
          <span className="inspector-patch" />
        ) : (
          <Disclosure className="inspector-patch">
            <Heading level={3}>
              <Button slot="trigger" className="button button-quiet button-small">
                {count === 1 ? "1 change" : `${count} changes`}
              </Button>
            </Heading>
            <DisclosurePanel>
              <pre aria-label="JSON Patch">{patch.map((one) => renderJson(one)).join("\n")}</pre>
            </DisclosurePanel>
          </Disclosure>
        )}
        <Button className="button button-small" isDisabled={busy} onPress={onDiscard}>
          Discard
        </Button>
        {count > 0 && (
          <Button
            className="button button-small button-primary"
            isPending={busy}
            isDisabled={blocked > 0}
            onPress={onSave}
          >
            Save
          </Button>
        )}
      </div>
    </section>
  );
}

function hasPath(patch: { path: string }[], path: string): boolean {
  return patch.some((one) => one.path === path);
}

const MOST_PATHS = 4;

function Paths({ paths }: { paths: string[] }) {
  return (
    <>
      {paths.slice(0, MOST_PATHS).map((path, at) => (
        <span key={path}>
          {at > 0 && ", "}
          <code>{path}</code>
        </span>
      ))}
      {paths.length > MOST_PATHS && ` and ${paths.length - MOST_PATHS} more`}
    </>
  );
}
