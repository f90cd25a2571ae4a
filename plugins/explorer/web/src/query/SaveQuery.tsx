import { Bookmark } from "lucide-react";
import { useState, type FormEvent } from "react";
import {
  Button,
  Dialog,
  DialogTrigger,
  FieldError,
  Form,
  Heading,
  Input,
  Label,
  Modal,
  ModalOverlay,
  TextField,
} from "react-aria-components";

import { useNotices } from "../app/notices";
import { useQueries } from "./store";

/** Gives what is written a name. */
export function SaveQuery() {
  const [open, setOpen] = useState(false);
  const empty = useQueries((state) => state.text.trim() === "");
  return (
    <DialogTrigger isOpen={open} onOpenChange={setOpen}>
      <Button className="button" isDisabled={empty} aria-label="Save query">
        <Bookmark size={14} aria-hidden /> <span className="query-wide">Save</span>
      </Button>
      <ModalOverlay className="react-aria-ModalOverlay" isDismissable>
        <Modal className="react-aria-Modal">
          <Dialog>
            <SaveForm onDone={() => setOpen(false)} />
          </Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  );
}

function SaveForm({ onDone }: { onDone(): void }) {
  const { text, parameters, saved, save } = useQueries();
  const [name, setName] = useState("");
  const replaces = saved.some((one) => one.name === name.trim());
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save({ name: name.trim(), text, parameters });
    const { full } = useQueries.getState();
    if (full) useNotices.getState().sayError(new Error("The browser has no room to save queries."));
    else useNotices.getState().say(`The query is saved as «${name.trim()}» in this browser.`);
    onDone();
  };
  return (
    <Form className="query-form" onSubmit={submit}>
      <Heading slot="title">Save query</Heading>
      {/* eslint-disable-next-line jsx-a11y/no-autofocus -- a dialog begins at its first field */}
      <TextField value={name} onChange={setName} isRequired autoFocus maxLength={120}>
        <Label>Name</Label>
        <Input />
        <FieldError />
      </TextField>
      <p className="muted">
        {replaces
          ? "There is a query of this name; it will be replaced."
          : "It is kept in this browser, for this graph. The library exports it."}
      </p>
      <div className="modal-actions">
        <Button className="button" slot="close">
          Cancel
        </Button>
        <Button className="button button-primary" type="submit" isDisabled={name.trim() === ""}>
          {replaces ? "Replace" : "Save"}
        </Button>
      </div>
    </Form>
  );
}
