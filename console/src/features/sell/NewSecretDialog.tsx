import { useQueryClient } from "@tanstack/react-query";
import { call } from "@/api/client";
import { keys } from "@/api/keys";
import { Button } from "@/ui/Button";
import { Actions, Dialog } from "@/ui/Dialog";
import { Field } from "@/ui/Field";
import { useForm } from "@/ui/form";
import { FormFrame } from "@/ui/FormFrame";
import { announce } from "@/ui/toast";

interface NewSecretProps {
  purpose: "bearer" | "header";
  name: string;
  onStored: (id: string) => void;
  onClose: () => void;
}

/** Stores a credential in the vault without leaving the wrapper's form. */
export function NewSecretDialog({ purpose, name, onStored, onClose }: NewSecretProps) {
  const client = useQueryClient();
  const form = useForm({
    initial: { name, value: "" },
    validate: (values) => ({
      name: values.name.trim().length < 2 ? "A name has 2 to 80 characters." : undefined,
      value: values.value === "" ? "Enter the credential." : undefined,
    }),
    submit: (values) =>
      call("POST /v1/vault/secrets", { body: { name: values.name.trim(), purpose, value: values.value } }),
    onDone: async (secret) => {
      announce(`Stored “${secret.name}”.`, "good");
      await client.invalidateQueries({ queryKey: keys.secrets });
      onStored(secret.id);
      onClose();
    },
  });
  return (
    <Dialog title="Store the credential" onClose={onClose}>
      <FormFrame form={form} name="Store the credential">
        <Field label="Name" maxLength={80} {...form.field("name")} />
        <Field
          label="Value"
          type="password"
          autoComplete="new-password"
          hint="It is encrypted at once. No page and no route shows it again."
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
