import { Plus } from "lucide-react";
import { useState } from "react";
import { Button, Input, Label, Text, TextField } from "react-aria-components";

import type { Role, Scope } from "../api/control";
import { Choice } from "./Choice";
import { FormDialog } from "./FormDialog";
import { useChange } from "./data";

const DAY = 86_400_000;
const SPANS = {
  never: { name: "Until it is revoked", milliseconds: null },
  day: { name: "For a day", milliseconds: DAY },
  week: { name: "For a week", milliseconds: 7 * DAY },
  month: { name: "For 30 days", milliseconds: 30 * DAY },
  year: { name: "For a year", milliseconds: 365 * DAY },
};
type Span = keyof typeof SPANS;

interface Grant {
  who: string;
  role: string;
  span: Span;
}

interface Props {
  scope: Scope;
  roles: Role[];
}

/** A form that gives a role at a scope to somebody. */
export function GrantRole({ scope, roles }: Props) {
  const empty: Grant = {
    who: "",
    role: roles.find((one) => one.role_id === "viewer")?.role_id ?? roles[0]?.role_id ?? "",
    span: "never",
  };
  const [grant, setGrant] = useState(empty);
  const create = useChange((control, { who, role, span }: Grant) => {
    const { milliseconds } = SPANS[span];
    const name = who.trim();
    return control.createAssignment(scope, {
      role_id: role,
      ...(name.includes("@") && !name.endsWith("@clients") ? { email: name } : { user_id: name }),
      ...(milliseconds === null
        ? {}
        : { expires_at: new Date(Date.now() + milliseconds).toISOString() }),
    });
  });
  return (
    <FormDialog
      trigger={
        <Button className="button">
          <Plus size={15} aria-hidden />
          Grant a role
        </Button>
      }
      title="Grant a role"
      submit="Grant"
      isReady={grant.who.trim() !== "" && grant.role !== ""}
      onOpen={() => setGrant(empty)}
      onSubmit={() => create.mutateAsync(grant)}
    >
      <TextField
        isRequired
        value={grant.who}
        onChange={(who) => setGrant({ ...grant, who })}
        autoComplete="off"
      >
        <Label>Who</Label>
        <Input spellCheck="false" />
        <Text slot="description">
          The subject of their tokens, or an email: whoever first signs in with it gets the role.
        </Text>
      </TextField>
      <Choice
        label="Role"
        options={roles.map((one) => ({
          id: one.role_id,
          name: one.name,
          description: one.description ?? one.permissions.join(", "),
        }))}
        value={grant.role}
        onChange={(role) => setGrant({ ...grant, role })}
      />
      <Choice
        label="How long"
        options={Object.entries(SPANS).map(([id, { name }]) => ({ id: id as Span, name }))}
        value={grant.span}
        onChange={(span) => setGrant({ ...grant, span })}
      />
    </FormDialog>
  );
}
