import { Download } from "lucide-react";
import { Button } from "react-aria-components";

import { renderJson } from "../api/json";
import { saveFile } from "../results/download";
import type { ModelIndex } from "./index";

/** Saves every model as one array of JSON, which `Upload` takes as it is. */
export function DownloadModels({ index }: { index: ModelIndex }) {
  return (
    <Button
      className="button button-small"
      onPress={() => saveFile([renderModels(index)], "models.json", "application/json")}
    >
      <Download size={13} aria-hidden /> Download all models
    </Button>
  );
}

/** The documents as they were stored, in one array. */
export function renderModels(index: ModelIndex): string {
  return renderJson(
    [...index.interfaces.values()].map((one) => one.document),
    2,
  );
}
