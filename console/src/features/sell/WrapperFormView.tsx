import { useEffect, useRef, useState } from "react";
import type { ReactNode } from "react";
import { Button } from "@/ui/Button";
import { Problem } from "@/ui/PageState";
import { ApiFields } from "./ApiFields";
import { CredentialFields } from "./CredentialFields";
import { LimitFields } from "./LimitFields";
import { NewSecretDialog } from "./NewSecretDialog";
import { PriceFields } from "./PriceFields";
import { RouteFields } from "./RouteFields";
import styles from "./Sell.module.css";
import type { WrapperForm } from "./useWrapperForm";
import type { Wrapper } from "./wrapperDraft";

interface WrapperFormViewProps {
  form: WrapperForm;
  stored: Wrapper | null;
  name: string;
  verb: string;
  /** The way out, before the button. */
  cancel?: ReactNode;
}

/** Every member of a wrapper in one form. Why it failed stands at its end, beside the button. */
export function WrapperFormView({ form, stored, name, verb, cancel }: WrapperFormViewProps) {
  const [isStoring, setStoring] = useState(false);
  const element = useRef<HTMLFormElement>(null);
  useEffect(() => {
    // A refusal that belongs to a field leads there; the form is long.
    if (form.failure !== null) element.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [form.failure]);
  return (
    <>
      <form
        ref={element}
        className={styles["form"]}
        aria-label={name}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void form.submit();
        }}
      >
        <ApiFields form={form} isNew={stored === null} />
        <PriceFields form={form} />
        <CredentialFields form={form} stored={stored} onStore={() => setStoring(true)} />
        <RouteFields form={form} />
        <LimitFields form={form} />
        {form.failure !== null && <Problem error={form.failure} isSmall />}
        <div className={styles["submit"]}>
          {cancel}
          <Button type="submit" kind="primary" isPending={form.isPending}>
            {verb}
          </Button>
        </div>
      </form>
      {isStoring && (
        <NewSecretDialog
          purpose={form.draft["authType"] === "header" ? "header" : "bearer"}
          name={`${form.draft["name"] ?? ""} api`.trim()}
          onStored={(id) => form.set("secretId", id)}
          onClose={() => setStoring(false)}
        />
      )}
    </>
  );
}
