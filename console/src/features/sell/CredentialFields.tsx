import { useQuery } from "@tanstack/react-query";
import { call } from "@/api/client";
import { keys } from "@/api/keys";
import { Button } from "@/ui/Button";
import { Field, Select } from "@/ui/Field";
import { Note } from "@/ui/Note";
import { Card, Section } from "@/ui/Page";
import { Problem } from "@/ui/PageState";
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

interface CredentialProps {
  form: WrapperForm;
  /** The wrapper that is edited; null for a new one. */
  stored: Wrapper | null;
  /** Opens the dialog that stores a new secret; it is a form of its own, outside this one. */
  onStore: () => void;
}

/** How the gateway authenticates at the API: a secret of the vault, in a header. */
export function CredentialFields({ form, stored, onStore }: CredentialProps) {
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
              <Button size="small" onClick={onStore}>
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
    </Section>
  );
}
