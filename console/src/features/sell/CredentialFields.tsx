import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "@/api/client";
import { keys } from "@/api/keys";
import { Button } from "@/ui/Button";
import { Actions, Dialog } from "@/ui/Dialog";
import { Field, Select } from "@/ui/Field";
import { useForm } from "@/ui/form";
import { FormFrame } from "@/ui/FormFrame";
import { Note } from "@/ui/Note";
import { Card, Section } from "@/ui/Page";
import { Problem } from "@/ui/PageState";
import { announce } from "@/ui/toast";
import type { WrapperForm } from "./useWrapperForm";
import { isOtherHost } from "./wrapperBody";
import type { Wrapper } from "./wrapperDraft";

const AUTH_OPTIONS = [
  { value: "none", label: "No credential" },
  { value: "bearer", label: "Authorization: Bearer …" },
  { value: "header", label: "A header of your choice" },
];

function useSecrets() {
  return useQuery({
    queryKey: [...keys.secrets, "choice"],
    queryFn: ({ signal }) => call("GET /v1/vault/secrets", { query: { limit: 100 } }, { signal }),
  });
}

interface NewSecretProps {
  purpose: "bearer" | "header";
  name: string;
  onStored: (id: string) => void;
  onClose: () => void;
}

function NewSecretDialog({ purpose, name, onStored, onClose }: NewSecretProps) {
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

interface CredentialProps {
  form: WrapperForm;
  /** The wrapper that is edited; null for a new one. */
  stored: Wrapper | null;
}

/** How the gateway authenticates at the API: a secret of the vault, in a header. */
export function CredentialFields({ form, stored }: CredentialProps) {
  const [isStoring, setStoring] = useState(false);
  const secrets = useSecrets();
  const authType = form.draft["authType"] ?? "none";
  const needsSecret = authType === "bearer" || authType === "header";
  const usable = (secrets.data?.items ?? []).filter((each) => each.purpose !== "other");
  const chosen = form.draft["secretId"] ?? "";
  const isKnown = chosen === "" || usable.some((each) => each.id === chosen);
  return (
    <Section title="Credential" description="Sent to your API with each paid request, and to nobody else.">
      <Card>
        <Select label="Your API asks for" options={AUTH_OPTIONS} {...form.field("authType")} />
        {authType === "header" && (
          <Field label="Name of the header" placeholder="X-API-Key" maxLength={100} {...form.field("authHeader")} />
        )}
        {needsSecret && (
          <>
            {secrets.error !== null && <Problem error={secrets.error} isSmall onRetry={() => void secrets.refetch()} />}
            <Select
              label="Secret"
              options={[
                { value: "", label: usable.length === 0 ? "The vault has no secret yet" : "Choose a secret" },
                ...(isKnown ? [] : [{ value: chosen, label: "The secret that is stored now" }]),
                ...usable.map((each) => ({ value: each.id, label: each.name })),
              ]}
              {...form.field("secretId")}
            />
            <div className="row">
              <Button size="small" onClick={() => setStoring(true)}>
                Store a new secret
              </Button>
            </div>
          </>
        )}
        {needsSecret && stored !== null && chosen !== "" && isOtherHost(stored, form.draft["upstreamUrl"] ?? "") && (
          <Note tone="warn">
            Your API has another host now. When you save, the credential is sent to{" "}
            <code className="foreign">{form.draft["upstreamUrl"]}</code>.
          </Note>
        )}
      </Card>
      {isStoring && needsSecret && (
        <NewSecretDialog
          purpose={authType}
          name={`${form.draft["name"] ?? ""} api`.trim()}
          onStored={(id) => form.set("secretId", id)}
          onClose={() => setStoring(false)}
        />
      )}
    </Section>
  );
}
