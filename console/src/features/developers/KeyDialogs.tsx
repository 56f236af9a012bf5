import { useQueryClient } from "@tanstack/react-query";
import { call } from "@/api/client";
import { keys } from "@/api/keys";
import { Button } from "@/ui/Button";
import { CodeBlock } from "@/ui/CodeBlock";
import { Confirm } from "@/ui/Confirm";
import { Actions, Dialog } from "@/ui/Dialog";
import { Checkbox, Field, FieldGroup, Select } from "@/ui/Field";
import { useForm } from "@/ui/form";
import { FormFrame } from "@/ui/FormFrame";
import { Note } from "@/ui/Note";
import { announce } from "@/ui/toast";
import type { Key, Scope } from "./keyState";
import { LIVES, OVERLAPS, SCOPES } from "./keyState";

interface IssuedKey extends Key {
  key: string;
}

/** Reads the keys again after a change, and the log that has its event. */
function useKeysChanged(): () => void {
  const client = useQueryClient();
  return () => {
    void client.invalidateQueries({ queryKey: keys.apiKeys });
    void client.invalidateQueries({ queryKey: keys.audit });
  };
}

interface CreateProps {
  onClose: () => void;
  onIssued: (key: IssuedKey) => void;
}

interface KeyValues {
  name: string;
  scopes: Scope[];
  life: string;
}

const NEW_KEY: KeyValues = { name: "", scopes: ["read"], life: LIVES[1]?.value ?? "" };

const validate = ({ name, scopes }: KeyValues) => ({
  name: name.trim().length < 2 || name.trim().length > 80 ? "A name has 2 to 80 characters." : undefined,
  scopes: scopes.length === 0 ? "Choose at least one." : undefined,
});

export function CreateKeyDialog({ onClose, onIssued }: CreateProps) {
  const changed = useKeysChanged();
  const form = useForm<KeyValues, IssuedKey>({
    initial: NEW_KEY,
    validate,
    submit: ({ name, scopes, life }) =>
      call("POST /v1/api-keys", {
        body: { name: name.trim(), scopes, ...(life === "" ? {} : { expiresInSeconds: Number(life) }) },
      }),
    onDone: (key) => {
      changed();
      onIssued(key);
    },
  });
  const toggle = (scope: Scope, isChosen: boolean) =>
    form.set("scopes", isChosen ? [...form.values.scopes, scope] : form.values.scopes.filter((each) => each !== scope));
  return (
    <Dialog title="Create an API key" onClose={onClose}>
      <FormFrame form={form} name="Create an API key">
        <Field label="Name" placeholder="Shop server" maxLength={80} {...form.field("name")} />
        <FieldGroup label="It may" error={form.errors.scopes}>
          {(Object.keys(SCOPES) as Scope[]).map((scope) => (
            <Checkbox
              key={scope}
              label={<code>{scope}</code>}
              hint={SCOPES[scope]}
              isChecked={form.values.scopes.includes(scope)}
              onChange={(isChosen) => toggle(scope, isChosen)}
            />
          ))}
        </FieldGroup>
        <Select label="It expires after" options={LIVES} {...form.field("life")} />
        <Actions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" isPending={form.isPending}>
            Create the key
          </Button>
        </Actions>
      </FormFrame>
    </Dialog>
  );
}

/** Shows a key the one time that it can be shown. Only its button closes it. */
export function IssuedKeyDialog({ issued, onClose }: { issued: IssuedKey; onClose: () => void }) {
  return (
    <Dialog title={`The key “${issued.name}”`} onClose={onClose} isClosable={false} isWide>
      <Note tone="warn">
        Copy the key now. It is shown this once: Farebox keeps only a digest and cannot show it again.
      </Note>
      <CodeBlock code={issued.key} name="the key" isWrapped />
      <p className="soft">
        Send it as <code>Authorization: Bearer …</code> from a server. Never put it into a web page or a repository.
      </p>
      <Actions>
        <Button kind="primary" onClick={onClose}>
          I have stored it
        </Button>
      </Actions>
    </Dialog>
  );
}

interface ChangeProps {
  apiKey: Key;
  onClose: () => void;
}

export function RotateKeyDialog({ apiKey, onClose, onIssued }: ChangeProps & CreateProps) {
  const changed = useKeysChanged();
  const form = useForm({
    initial: { overlap: "0" },
    submit: ({ overlap }): Promise<IssuedKey> =>
      call("POST /v1/api-keys/{id}/rotate", { path: { id: apiKey.id }, body: { overlapSeconds: Number(overlap) } }),
    onDone: (key) => {
      changed();
      onIssued(key);
    },
  });
  return (
    <Dialog title={`Rotate “${apiKey.name}”`} onClose={onClose}>
      <FormFrame form={form} name="Rotate the key">
        <p>A new key takes the name, the scopes and the expiry of this one.</p>
        <Select
          label="The old key works on for"
          options={OVERLAPS}
          hint="Time to deploy the new key. It cannot be cut short while the new key stays."
          {...form.field("overlap")}
        />
        <Actions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" isPending={form.isPending}>
            Rotate
          </Button>
        </Actions>
      </FormFrame>
    </Dialog>
  );
}

export function RevokeKeyDialog({ apiKey, onClose }: ChangeProps) {
  const changed = useKeysChanged();
  return (
    <Confirm
      title={`Revoke “${apiKey.name}”?`}
      verb="Revoke"
      act={() => call("DELETE /v1/api-keys/{id}", { path: { id: apiKey.id } })}
      onDone={() => {
        changed();
        announce(`Revoked “${apiKey.name}”.`, "good");
        onClose();
      }}
      onClose={onClose}
    >
      <p>
        Every program that uses it gets 401 from its next request on. Keys that it was rotated to are revoked with it.
        This cannot be undone.
      </p>
    </Confirm>
  );
}
