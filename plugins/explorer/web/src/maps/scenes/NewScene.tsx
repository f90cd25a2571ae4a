import { FileUp } from "lucide-react";
import { useState } from "react";
import { Button, FileTrigger, Input, Label, TextField } from "react-aria-components";

import { showText } from "../../app/showText";
import { FormFrame } from "../../inspector/FormFrame";
import { TwinSearch } from "../../inspector/TwinSearch";
import { useContainment } from "../../locations/useContainment";
import { useSession } from "../../session/session";
import type { NewProps } from "../KeptView";
import { renderBoxes } from "./boxes";
import { packScene, type PackedScene } from "./pack";
import { readLocation } from "./readLocation";
import { deletePieces, keepPieces, MOST_FILE, readSceneFile, renderScene } from "./scene";
import { loadShapes } from "./ScenePainter";

/** A new scene: its name, and the file or the location that it is made of. */
export function NewScene({ workspaces, onMade, onClose }: NewProps) {
  const [name, setName] = useState("");
  const [file, setFile] = useState<File | null>(null);
  const [location, setLocation] = useState("");
  const { graph } = useSession();
  const { containment } = useContainment();
  const choose = (chosen: File | null): void => {
    setFile(chosen);
    if (chosen !== null && name === "") setName(chosen.name.replace(/\.(?:glb|gltf)$/i, ""));
  };
  const pack = async (): Promise<PackedScene> => {
    if (file === null) {
      return packScene(renderBoxes(await readLocation(graph, containment, location)).buffer);
    }
    const packed = await readSceneFile(file);
    // What cannot be drawn is not kept.
    if ((await loadShapes(packed.glb.buffer)).length === 0) {
      throw new Error(`${file.name} has no faces to draw: its meshes are points or lines.`);
    }
    return packed;
  };
  const create = async (): Promise<void> => {
    const pieces = await keepPieces(workspaces, name.trim(), await pack());
    try {
      onMade(await workspaces.create(name.trim(), renderScene({ pieces, bindings: new Map() })));
    } catch (error) {
      await deletePieces(workspaces, pieces);
      throw error;
    }
  };
  return (
    <FormFrame
      title="New 3D scene"
      submit="Create"
      isWritten={name !== "" || file !== null}
      isReady={name.trim() !== "" && (file !== null || location !== "")}
      onSubmit={create}
      onClose={onClose}
    >
      <div className="plan-file">
        <FileTrigger
          acceptedFileTypes={[".glb", ".gltf", "model/gltf-binary", "model/gltf+json"]}
          onSelect={(files) => choose(files?.[0] ?? null)}
        >
          <Button className="button">
            <FileUp size={14} aria-hidden /> Choose a glTF file
          </Button>
        </FileTrigger>
        <span className="muted">
          {file === null
            ? `A .glb, or a .gltf with its buffers in it, up to ${MOST_FILE / 1_000_000} MB.`
            : showText(file.name)}
        </span>
      </div>
      {file === null && (
        <div>
          <span className="react-aria-Label">
            Or begin with boxes: one for each building, level and room of a location
          </span>
          <TwinSearch label="Location" model={undefined} value="" isBare onChange={setLocation} />
        </div>
      )}
      <TextField isRequired value={name} onChange={setName} maxLength={200}>
        <Label>Name</Label>
        <Input />
      </TextField>
      <p className="muted">
        A node that is called as a twin, by id or name, is bound to it. Pictures on surfaces are
        left out, as colours come from values.
      </p>
    </FormFrame>
  );
}
