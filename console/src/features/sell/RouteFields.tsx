import { useState } from "react";
import { Button } from "@/ui/Button";
import { Field, Select, TextArea } from "@/ui/Field";
import { Section } from "@/ui/Page";
import { addTo, idsOf, removeFrom } from "@/ui/draft";
import styles from "./Sell.module.css";
import type { WrapperForm } from "./useWrapperForm";
import { routeDecimals } from "./wrapperBody";
import { MAX_ROUTES, METHODS, NEW_ROUTE } from "./wrapperDraft";

const METHOD_OPTIONS = METHODS.map((each) => ({ value: each, label: each }));
const OTHER_PATHS = [
  { value: "base", label: "They cost the price above" },
  { value: "refused", label: "They are refused (404)" },
];

interface RouteProps {
  form: WrapperForm;
  id: string;
  number: number;
}

function Schemas({ form, id }: Omit<RouteProps, "number">) {
  const at = (name: string) => `routes.${id}.${name}`;
  const hasBody = !["GET", "DELETE"].includes(form.draft[at("method")] ?? "GET");
  const names = ["input", "output", "accepts"];
  const [isFilled] = useState(names.some((name) => (form.draft[at(name)] ?? "") !== ""));
  const hasError = names.some((name) => form.field(at(name)).error !== undefined);
  return (
    <details className={styles["fold"]} open={isFilled || hasError || undefined}>
      <summary>Schemas and prices in several tokens</summary>
      <div className={`stack ${styles["code"]}`}>
        <TextArea
          label={hasBody ? "Schema of the body" : "Schema of the query"}
          rows={5}
          placeholder={'{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}'}
          hint="A JSON Schema, at most 2 KB. Buyers and agents read it to write the request."
          {...form.field(at("input"))}
        />
        <TextArea label="Schema of the response" rows={4} hint="A JSON Schema, at most 2 KB." {...form.field(at("output"))} />
        <TextArea
          label="Prices of this route in several tokens"
          rows={4}
          placeholder={'[{"network": "stellar:testnet", "asset": "C…", "amount": "10000", "payTo": "G…"}]'}
          hint="In place of a price: a JSON list with amounts in base units. Leave it empty otherwise."
          {...form.field(at("accepts"))}
        />
      </div>
    </details>
  );
}

function Route({ form, id, number }: RouteProps) {
  const at = (name: string) => `routes.${id}.${name}`;
  const isOneTerm = idsOf(form.draft, "terms").length === 1;
  const [term] = idsOf(form.draft, "terms");
  const { code } = form.tokenOf(form.draft[`terms.${term}.network`] ?? "", form.draft[`terms.${term}.asset`] ?? "");
  const isBaseUnits = routeDecimals(form.draft, form.tokenOf) === null;
  const hasAmount = (form.draft[at("amount")] ?? "") !== "";
  return (
    <div className={styles["entry"]} role="group" aria-label={`Route ${number}`}>
      <div className={styles["entryHead"]}>
        <h3>Route {number}</h3>
        <Button kind="quiet" size="small" onClick={() => form.change(removeFrom(form.draft, "routes", id))}>
          Remove
        </Button>
      </div>
      <div className={styles["pair"]}>
        <Select label="Method" options={METHOD_OPTIONS} {...form.field(at("method"))} />
        <Field
          label="Path behind the slug"
          placeholder="/city/:name"
          maxLength={512}
          hint="A segment that begins with : stands for any text."
          {...form.field(at("path"))}
        />
      </div>
      {(isOneTerm || hasAmount) && (
        <Field
          label="Price of this route"
          inputMode="decimal"
          maxLength={50}
          placeholder="the price above"
          unit={isBaseUnits ? "base units" : (code ?? "tokens")}
          {...form.field(at("amount"))}
        />
      )}
      <TextArea label="Description of this route" rows={2} maxLength={500} {...form.field(at("description"))} />
      <Schemas form={form} id={id} />
    </div>
  );
}

/** Paths with a price or a description of their own; each is listed by itself. */
export function RouteFields({ form }: { form: WrapperForm }) {
  const ids = idsOf(form.draft, "routes");
  return (
    <Section
      title="Routes"
      description="Without a route, every path costs the price above. A route has its own price, description and schema, and a listing of its own."
    >
      {ids.map((id, index) => (
        <Route key={id} form={form} id={id} number={index + 1} />
      ))}
      {ids.length > 0 && (
        <Select label="Paths without a route" options={OTHER_PATHS} {...form.field("otherPaths")} />
      )}
      {ids.length < MAX_ROUTES && (
        <div className="row">
          <Button size="small" onClick={() => form.change(addTo(form.draft, "routes", NEW_ROUTE))}>
            Add a route
          </Button>
        </div>
      )}
    </Section>
  );
}
