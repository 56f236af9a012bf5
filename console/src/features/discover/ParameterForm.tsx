import { useState } from "react";
import { Button } from "@/ui/Button";
import { Field, Select, TextArea } from "@/ui/Field";
import type { InputField } from "./inputForm";
import { formOf, initialValues, readForm } from "./inputForm";
import type { Listing } from "./listing";
import type { CallArguments } from "./pay";

interface ParameterFormProps {
  listing: Listing;
  /** What was typed; null before that. */
  values: Record<string, string> | null;
  onChange: (values: Record<string, string>) => void;
  isPending: boolean;
  onAsk: (args: CallArguments) => void;
}

const isCallable = (method: string | undefined): method is "GET" | "POST" => method === "GET" || method === "POST";

/** The parameters of the call. Asking for the price costs nothing and signs nothing. */
export function ParameterForm({ listing, values, onChange, isPending, onAsk }: ParameterFormProps) {
  const [chosen, setChosen] = useState<"GET" | "POST">("GET");
  const [hasTried, setTried] = useState(false);
  if (listing.method !== undefined && !isCallable(listing.method)) {
    return <p>It is called by {listing.method}, and only GET and POST can be tried here.</p>;
  }
  const method = listing.method === undefined ? chosen : (listing.method as "GET" | "POST");
  const fields = formOf(listing, method);
  const current = values ?? initialValues(fields);
  const { errors, args } = readForm(fields, current);
  const submit = () => {
    setTried(true);
    if (isPending || Object.keys(errors).length > 0) return;
    onAsk({ url: listing.resource, method, ...args });
  };
  return (
    <form
      className="stack"
      aria-label="Parameters of the call"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {listing.method === undefined && (
        <Select
          label="Method"
          value={chosen}
          onChange={(value) => setChosen(value === "POST" ? "POST" : "GET")}
          options={[{ value: "GET", label: "GET" }, { value: "POST", label: "POST" }]}
        />
      )}
      {fields.length === 0 && <p className="soft">The seller states no parameters.</p>}
      {fields.map((field) => (
        <Input
          key={field.id}
          field={field}
          value={current[field.id] ?? ""}
          error={hasTried ? errors[field.id] : undefined}
          onChange={(value) => onChange({ ...current, [field.id]: value })}
        />
      ))}
      <Button kind="primary" type="submit" isPending={isPending}>
        {isPending ? "Asking for the price" : "Ask for the price"}
      </Button>
      <p className="soft">This calls the resource without a payment. It costs nothing, and nothing is signed.</p>
    </form>
  );
}

interface InputProps {
  field: InputField;
  value: string;
  error: string | undefined;
  onChange: (value: string) => void;
}

function Input({ field, value, error, onChange }: InputProps) {
  const name = field.name === "" ? "Body" : field.name;
  const label = <span className="foreign">{field.isRequired ? name : `${name} (optional)`}</span>;
  const hint = field.description === "" ? undefined : <span className="foreign">{field.description}</span>;
  const frame = { label, hint, error, value, onChange };
  if (field.type === "json") return <TextArea {...frame} rows={5} />;
  const choices = field.type === "boolean" ? ["true", "false"] : field.choices;
  if (choices.length === 0) return <Field {...frame} inputMode={field.type === "text" ? "text" : "decimal"} />;
  const options = choices.map((each) => ({ value: each, label: each }));
  return <Select {...frame} options={field.isRequired && value !== "" ? options : [{ value: "", label: "Not set" }, ...options]} />;
}
