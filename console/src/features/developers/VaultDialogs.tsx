import { useQueryClient } from "@tanstack/react-query";
import { call } from "@/api/client";
import { keys } from "@/api/keys";
import type { Schema } from "@/api/types";
import { Button } from "@/ui/Button";
import { Confirm } from "@/ui/Confirm";
import { Actions, Dialog } from "@/ui/Dialog";
import { Field, Select } from "@/ui/Field";
import { useForm } from "@/ui/form";
import { FormFrame } from "@/ui/FormFrame";
import { announce } from "@/ui/toast";

export type Secret = Schema<"SecretBody">;
type Purpose = Secret["purpose"];

export const PURPOSES: Record<Purpose, string> = {
  bearer: "A bearer token",
  header: "The value of a header",
  other: "Another text, never sent in a header",
};

interface DialogProps {
  onClose: () => void;
}

function useSecretsChanged(): () => void {
  const client = useQueryClient();
  return () => {
    void client.invalidateQueries({ queryKey: keys.secrets });
    void client.invalidateQueries({ queryKey: keys.audit });
  };
}

const isEmptyText = (text: string) => (text === "" ? "Enter the value." : undefined);

/** The value is hidden as it is typed, and no browser offers to keep it. */
const HIDDEN = { type: "password", autoComplete: "new-password" } as const;

export function StoreSecretDialog({ onClose }: DialogProps) {
  const changed = useSecretsChanged();
  const form = useForm({
    initial: { name: "", purpose: "bearer", value: "" },
    validate: ({ name, value }) => ({
      name: name.trim().length < 2 || name.trim().length > 80 ? "A name has 2 to 80 characters." : undefined,
      value: isEmptyText(value),
    }),
    submit: ({ name, purpose, value }) =>
      call("POST /v1/vault/secrets", { body: { name: name.trim(), purpose: purpose as Purpose, value } }),
    onDone: (secret) => {
      changed();
      announce(`Stored “${secret.name}”.`, "good");
      onClose();
    },
  });
  const options = Object.entries(PURPOSES).map(([value, label]) => ({ value, label }));
  return (
    <Dialog title="Store a secret" onClose={onClose}>
      <FormFrame form={form} name="Store a secret">
        <Field label="Name" placeholder="forecast api" maxLength={80} {...form.field("name")} />
        <Select label="It is" options={options} {...form.field("purpose")} />
        <Field
          label="Value"
          {...HIDDEN}
          hint="The credential of your API. It is encrypted at once, and no page or route shows it again."
          {...form.field("value")}
        />
        <Actions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" isPending={form.isPending}>
            Store it
          </Button>
        </Actions>
      </FormFrame>
    </Dialog>
  );
}

export function RotateSecretDialog({ secret, onClose }: DialogProps & { secret: Secret }) {
  const changed = useSecretsChanged();
  const form = useForm({
    initial: { value: "" },
    validate: ({ value }) => ({ value: isEmptyText(value) }),
    submit: ({ value }) => call("POST /v1/vault/secrets/{id}/rotate", { path: { id: secret.id }, body: { value } }),
    onDone: () => {
      changed();
      announce(`“${secret.name}” has a new value.`, "good");
      onClose();
    },
  });
  return (
    <Dialog title={`Rotate “${secret.name}”`} onClose={onClose}>
      <FormFrame form={form} name="Rotate the secret">
        <Field
          label="New value"
          {...HIDDEN}
          hint="The next request to your API is sent with it. The old value is gone."
          {...form.field("value")}
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

export function DeleteSecretDialog({ secret, onClose }: DialogProps & { secret: Secret }) {
  const changed = useSecretsChanged();
  return (
    <Confirm
      title={`Delete “${secret.name}”?`}
      verb="Delete"
      act={() => call("DELETE /v1/vault/secrets/{id}", { path: { id: secret.id } })}
      onDone={() => {
        changed();
        announce(`Deleted “${secret.name}”.`, "good");
        onClose();
      }}
      onClose={onClose}
    >
      <p>Its value cannot be restored. A secret that a wrapper uses is not deleted.</p>
    </Confirm>
  );
}
