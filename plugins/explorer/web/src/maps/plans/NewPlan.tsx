import { ImageUp } from "lucide-react";
import { useState } from "react";
import { Button, FileTrigger, Input, Label, TextField } from "react-aria-components";

import { showText } from "../../app/showText";
import { FormFrame } from "../../inspector/FormFrame";
import { TwinSearch } from "../../inspector/TwinSearch";
import type { NewProps } from "../KeptView";
import { readPicture } from "./image";
import { renderPlan } from "./plan";

/** A sheet without a picture. */
const SHEET = { image: null, width: 1600, height: 1000 };

/** A new floor plan: its name, what it is of, and its picture if there is one. */
export function NewPlan({ workspaces, onMade, onClose }: NewProps) {
  const [name, setName] = useState("");
  const [location, setLocation] = useState("");
  const [file, setFile] = useState<File | null>(null);
  const create = async (): Promise<void> => {
    const picture = file === null ? SHEET : await readPicture(file);
    const plan = {
      ...picture,
      location: location.trim() === "" ? null : location.trim(),
      shapes: new Map(),
    };
    onMade(await workspaces.create(name.trim(), renderPlan(plan)));
  };
  return (
    <FormFrame
      title="New floor plan"
      submit="Create"
      isWritten={name !== "" || file !== null}
      isReady={name.trim() !== ""}
      onSubmit={create}
      onClose={onClose}
    >
      <TextField isRequired value={name} onChange={setName} maxLength={200}>
        <Label>Name</Label>
        <Input />
      </TextField>
      <div>
        <span className="react-aria-Label">
          The location it shows, whose parts are offered first
        </span>
        <TwinSearch label="Location" model={undefined} value="" isBare onChange={setLocation} />
      </div>
      <div className="plan-file">
        <FileTrigger
          acceptedFileTypes={["image/png", "image/jpeg", "image/webp", "image/svg+xml"]}
          onSelect={(files) => setFile(files?.[0] ?? null)}
        >
          <Button className="button">
            <ImageUp size={14} aria-hidden /> Choose a picture
          </Button>
        </FileTrigger>
        <span className="muted">
          {file === null
            ? "PNG, JPEG, WebP or SVG; an empty sheet without one."
            : showText(file.name)}
        </span>
      </div>
    </FormFrame>
  );
}
