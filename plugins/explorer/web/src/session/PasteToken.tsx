import { useState, type SyntheticEvent } from "react";
import { Button, FieldError, Form, Input, Label, Text, TextField } from "react-aria-components";

import { ApiError } from "../api/errors";
import { Http } from "../api/http";
import type { Configuration } from "../api/types";
import { findOther, WrongAudience } from "./audiences";
import { expiryOf, parseClaims, parsePasted } from "./claims";
import { takePasted } from "./pasted";

/** A field for a token that was got elsewhere, tried at the service before it is taken. */
export function PasteToken({ configuration }: { configuration: Configuration }) {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event: SyntheticEvent): Promise<void> => {
    event.preventDefault();
    const token = parsePasted(text);
    setBusy(true);
    const found = await findProblem(configuration, token);
    setBusy(false);
    setProblem(found);
    if (found === null) takePasted(token);
  };
  return (
    <Form className="sign-in-paste" onSubmit={(event) => void submit(event)}>
      <TextField
        type="password"
        value={text}
        onChange={(value) => {
          setText(value);
          setProblem(null);
        }}
        isInvalid={problem !== null}
        autoComplete="off"
        name="token"
      >
        <Label>Access token</Label>
        <Input placeholder="eyJ…" spellCheck="false" />
        <Text slot="description">It is kept in this tab until the tab is closed.</Text>
        <FieldError>{problem}</FieldError>
      </TextField>
      <Button className="button" type="submit" isPending={busy} isDisabled={text.trim() === ""}>
        Use this token
      </Button>
    </Form>
  );
}

/** Why the service does not take a token; null where it does. */
async function findProblem(
  { base, audience }: Configuration,
  token: string,
): Promise<string | null> {
  const expiry = expiryOf(parseClaims(token));
  if (expiry !== null && expiry < Date.now()) {
    return `This token has expired at ${new Date(expiry).toLocaleString()}. Get a new one.`;
  }
  try {
    await new Http(base, () => Promise.resolve(token)).send("/permissions");
  } catch (error) {
    // Whoever is known but may not ask is known: only a refused token and no answer are problems.
    if (!(error instanceof ApiError)) return String(error);
    const other = findOther(token, audience);
    if (error.status === 401 && other !== null) {
      return new WrongAudience({ name: "The service", audience }, other).message;
    }
    if (error.status === 401 || error.status === 0) return error.message;
  }
  return null;
}
