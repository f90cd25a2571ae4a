import { Plus, X } from "lucide-react";
import { useMemo, useState, type SyntheticEvent } from "react";
import {
  Button,
  Dialog,
  FieldError,
  Heading,
  Input,
  Label,
  Modal,
  ModalOverlay,
  Text,
  TextArea,
  TextField,
} from "react-aria-components";

import { useModels } from "../models/useModels";
import { buildDiagnostics } from "../query/diagnostics";
import { EditorFoot } from "../query/EditorFoot";
import "../query/query.css";
import { QueryEditor } from "../query/QueryEditor";
import { buildSchema } from "../query/schema";
import { asksForPlan, findKind } from "../query/tokens";
import { usedParameters } from "../query/parameters";
import { useCheck } from "../query/useCheck";
import { useLanguageWords } from "../query/useLanguageWords";
import { Failure } from "../app/Failure";
import { showText } from "../app/showText";
import {
  addSeries,
  EMPTY_CHART,
  keyOfSeries,
  readRequest,
  renderRequest,
  type ChartRequest,
} from "../time/request";
import { SeriesPicker } from "../time/SeriesPicker";
import { useWorkspaceList } from "../workspaces/useWorkspaces";
import { TileBody } from "./bodies";
import {
  OPERATORS,
  queryOf,
  SPANS,
  TILE_KINDS,
  TONES,
  type NumberRule,
  type NumberTile,
  type PictureTile,
  type SeriesTile,
  type Tile,
} from "./content";

interface Props {
  tile: Tile;
  isNew: boolean;
  onDone(tile: Tile): void;
  onClose(): void;
}

/** The form of a tile, with what it will show. Nothing is taken that the service would refuse. */
export default function TileEditor({ tile: given, isNew, onDone, onClose }: Props) {
  const [tile, setTile] = useState(given);
  const query = queryOf(tile);
  const refused = query === null ? null : refuse(query);
  const check = useCheck(query ?? "", refused === null ? {} : null, false);
  const isReady =
    tile.kind === "series"
      ? readRequest(tile.chart) !== null
      : tile.kind === "text"
        ? tile.text.trim() !== ""
        : tile.kind === "picture"
          ? tile.workspace !== ""
          : refused === null && check.state === "right";
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    if (isReady) onDone({ ...tile, title: tile.title.trim() });
  };
  return (
    // Escape closes what is being completed; it should not take the whole form with it.
    <ModalOverlay
      className="modal-overlay"
      isOpen
      isKeyboardDismissDisabled
      onOpenChange={(open) => !open && onClose()}
    >
      <Modal className="modal modal-wide">
        <Dialog className="modal-dialog">
          <Heading slot="title">
            {isNew ? "New tile" : "Change the tile"}: {TILE_KINDS[tile.kind].name}
          </Heading>
          <form className="tile-form" onSubmit={submit}>
            <TextField value={tile.title} onChange={(title) => setTile({ ...tile, title })}>
              <Label>Title</Label>
              <Input maxLength={120} />
            </TextField>
            <Fields tile={tile} check={check} refused={refused} onChange={setTile} />
            {isReady && tile.kind !== "text" && (
              <section className="tile-preview" aria-label="What the tile shows">
                <TileBody tile={tile} isShown />
              </section>
            )}
            <div className="modal-actions">
              <Button className="button button-quiet" onPress={onClose}>
                Cancel
              </Button>
              <Button className="button button-primary" type="submit" isDisabled={!isReady}>
                {isNew ? "Add" : "Done"}
              </Button>
            </div>
          </form>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

/** Why a text cannot be a tile, whatever the service says of it; null where it may be. */
function refuse(text: string): string | null {
  const kind = findKind(text);
  if (kind === "writes") return "A tile only reads. Leave out what creates, sets or deletes.";
  if (kind === "calls") return "A tile runs a plain query. Leave out CALL.";
  if (asksForPlan(text)) return "A tile shows rows. Leave out EXPLAIN or PROFILE.";
  const [parameter] = usedParameters(text);
  if (parameter !== undefined) {
    return `A tile has no parameters. Write the value in place of $${parameter}.`;
  }
  return null;
}

interface FieldsProps {
  tile: Tile;
  check: ReturnType<typeof useCheck>;
  refused: string | null;
  onChange(tile: Tile): void;
}

function Fields({ tile, check, refused, onChange }: FieldsProps) {
  if (tile.kind === "text") {
    return (
      <TextField value={tile.text} onChange={(text) => onChange({ ...tile, text })}>
        <Label>Text</Label>
        <TextArea rows={5} />
      </TextField>
    );
  }
  if (tile.kind === "picture") return <PictureFields tile={tile} onChange={onChange} />;
  if (tile.kind === "series") return <SeriesFields tile={tile} onChange={onChange} />;
  return (
    <>
      <TileQuery
        value={tile.query}
        check={check}
        refused={refused}
        onChange={(query) => onChange({ ...tile, query })}
      />
      {tile.kind !== "table" && (
        <div className="tile-fields">
          <TextField value={tile.unit} onChange={(unit) => onChange({ ...tile, unit })}>
            <Label>Unit</Label>
            <Input maxLength={40} />
          </TextField>
          {tile.kind === "number" && <NumberFields tile={tile} onChange={onChange} />}
        </div>
      )}
      {tile.kind === "number" && (
        <Rules rules={tile.rules} onChange={(rules) => onChange({ ...tile, rules })} />
      )}
    </>
  );
}

/** Which of the kept pictures. */
function PictureFields({ tile, onChange }: { tile: PictureTile; onChange(tile: Tile): void }) {
  const { data, error } = useWorkspaceList();
  const pictures = (data ?? []).filter((one) => one.kind === "picture");
  if (error !== null) return <Failure title="The workspaces cannot be read" error={error} />;
  return (
    <>
      <label className="tile-field">
        <span>Workspace</span>
        <select
          value={tile.workspace}
          onChange={(event) => {
            const workspace = event.target.value;
            const name = pictures.find((one) => one.id === workspace)?.name ?? "";
            onChange({ ...tile, workspace, title: tile.title === "" ? name : tile.title });
          }}
        >
          <option value="">Choose a picture</option>
          {pictures.map((one) => (
            <option key={one.id} value={one.id}>
              {showText(one.name)}
            </option>
          ))}
        </select>
      </label>
      {data !== undefined && pictures.length === 0 && (
        <p className="muted">
          No picture is kept yet. Draw one in Query, and save it with Workspace.
        </p>
      )}
    </>
  );
}

/** The series of a chart: added one by one, or all of the address of a chart. */
function SeriesFields({ tile, onChange }: { tile: SeriesTile; onChange(tile: Tile): void }) {
  const request = readRequest(tile.chart);
  const set = (next: ChartRequest): void =>
    onChange({ ...tile, chart: next.series.length === 0 ? "" : renderRequest(next) });
  return (
    <>
      <SeriesPicker onAdd={(one) => set(addSeries(request ?? EMPTY_CHART, [one]))} />
      {request !== null && (
        <ul className="tile-series-list" aria-label="Series">
          {request.series.map((one) => (
            <li key={keyOfSeries(one)}>
              <span>
                {showText(one.twin)} {showText(one.path.replaceAll("/", "."))}
              </span>
              <Button
                className="button button-quiet button-icon button-small"
                aria-label={`Remove ${one.twin} ${one.path.replaceAll("/", ".")}`}
                onPress={() =>
                  set({ ...request, series: request.series.filter((each) => each !== one) })
                }
              >
                <X size={14} aria-hidden />
              </Button>
            </li>
          ))}
        </ul>
      )}
      <TextField
        value={tile.chart}
        onChange={(text) => onChange({ ...tile, chart: text.slice(text.indexOf("#")).trim() })}
        isInvalid={tile.chart !== "" && request === null}
      >
        <Label>Address of a chart</Label>
        <Input placeholder="Copied from the view Chart" />
        <Text slot="description">
          Or put the series together in the view Chart, and copy the address of that page.
        </Text>
        <FieldError>This address names no series, as #series=room-1/temperature does.</FieldError>
      </TextField>
    </>
  );
}

const NO_PARAMETERS: string[] = [];
const nothing = (): void => undefined;

function TileQuery(props: {
  value: string;
  check: FieldsProps["check"];
  refused: string | null;
  onChange(value: string): void;
}) {
  const { value, check, refused, onChange } = props;
  const { index } = useModels();
  const words = useLanguageWords();
  const known = useMemo(
    () => ({ schema: buildSchema(index), words, parameters: NO_PARAMETERS }),
    [index, words],
  );
  const diagnostics = useMemo(
    () => (check.finding === null ? [] : buildDiagnostics(check.finding)),
    [check.finding],
  );
  return (
    <div className="tile-query">
      <QueryEditor
        value={value}
        onChange={onChange}
        onRun={nothing}
        onExplain={nothing}
        known={known}
        diagnostics={diagnostics}
      />
      {refused === null ? (
        <EditorFoot text={value} check={check} />
      ) : (
        <p className="tile-refused" role="status">
          {refused}
        </p>
      )}
    </div>
  );
}

const SPAN_WORDS = { "1h": "An hour ago", "24h": "A day ago", "7d": "A week ago" } as const;

function NumberFields({ tile, onChange }: { tile: NumberTile; onChange(tile: Tile): void }) {
  return (
    <>
      <TextField value={tile.column} onChange={(column) => onChange({ ...tile, column })}>
        <Label>Column</Label>
        <Input placeholder="The first with a number" maxLength={200} />
      </TextField>
      <label className="tile-field">
        <span>Decimals</span>
        <select
          value={tile.decimals}
          onChange={(event) => onChange({ ...tile, decimals: Number(event.target.value) })}
        >
          {[0, 1, 2, 3, 4].map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>
      <label className="tile-field">
        <span>Compare with</span>
        <select
          value={tile.since ?? ""}
          onChange={(event) => {
            const since = SPANS.find((one) => one === event.target.value) ?? null;
            onChange({ ...tile, since });
          }}
        >
          <option value="">Nothing</option>
          {SPANS.map((one) => (
            <option key={one} value={one}>
              {SPAN_WORDS[one]}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}

const TONE_WORDS = { good: "good (green)", warning: "warning (yellow)", danger: "danger (red)" };

function Rules(props: {
  rules: readonly NumberRule[];
  onChange(rules: readonly NumberRule[]): void;
}) {
  const { rules, onChange } = props;
  const change = (at: number, part: Partial<NumberRule>): void =>
    onChange(rules.map((rule, place) => (place === at ? { ...rule, ...part } : rule)));
  return (
    <fieldset className="tile-rules">
      <legend>Colours: the first that holds</legend>
      {rules.map((rule, at) => (
        <div key={at} className="tile-rule">
          <select
            aria-label={`Rule ${at + 1}: comparison`}
            value={rule.operator}
            onChange={(event) => {
              const operator = OPERATORS.find((one) => one === event.target.value);
              if (operator !== undefined) change(at, { operator });
            }}
          >
            {OPERATORS.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
          <input
            className="react-aria-Input"
            aria-label={`Rule ${at + 1}: value`}
            type="number"
            step="any"
            value={rule.value}
            onChange={(event) => {
              const value = event.target.valueAsNumber;
              if (!Number.isNaN(value)) change(at, { value });
            }}
          />
          <select
            aria-label={`Rule ${at + 1}: colour`}
            value={rule.tone}
            onChange={(event) => {
              const tone = TONES.find((one) => one === event.target.value);
              if (tone !== undefined) change(at, { tone });
            }}
          >
            {TONES.map((one) => (
              <option key={one} value={one}>
                {TONE_WORDS[one]}
              </option>
            ))}
          </select>
          <Button
            className="button button-quiet button-icon"
            aria-label={`Remove rule ${at + 1}`}
            onPress={() => onChange(rules.filter((_, place) => place !== at))}
          >
            <X size={14} aria-hidden />
          </Button>
        </div>
      ))}
      <Button
        className="button button-small"
        onPress={() => onChange([...rules, { operator: ">", value: 0, tone: "danger" }])}
      >
        <Plus size={13} aria-hidden /> Add a rule
      </Button>
    </fieldset>
  );
}
