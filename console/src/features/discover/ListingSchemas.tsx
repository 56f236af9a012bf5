import { asTexts } from "@/api/records";
import type { JsonObject } from "@/api/records";
import { CodeBlock } from "@/ui/CodeBlock";
import { Empty } from "@/ui/PageState";
import { Table } from "@/ui/Table";
import styles from "./Discover.module.css";
import type { InputField } from "./inputForm";
import { formOf } from "./inputForm";
import type { Listing } from "./listing";
import { readBlock, schemaOf } from "./listing";

const PLACES: Record<InputField["place"], string> = { pathParams: "path", query: "query", body: "body" };
const MAX_TEXT = 20_000;

const write = (value: unknown): string => {
  const text = JSON.stringify(value, null, 2) ?? "";
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}\n… (cut off here)` : text;
};

function Inputs({ fields }: { fields: readonly InputField[] }) {
  if (fields.length === 0) return <p className="soft">It takes no parameters.</p>;
  return (
    <Table
      name="Parameters"
      rows={fields}
      rowKey={(field) => field.id}
      columns={[
        { id: "name", label: "Name", cell: (field) => <code className="foreign">{field.name || "(the body)"}</code> },
        { id: "place", label: "In", cell: (field) => PLACES[field.place] },
        { id: "type", label: "Type", cell: (field) => (field.type === "json" ? "JSON" : field.type) },
        { id: "needed", label: "Needed", cell: (field) => (field.isRequired ? "yes" : "no") },
        { id: "about", label: "Meaning", cell: (field) => <span className="foreign">{meaningOf(field)}</span> },
      ]}
    />
  );
}

function meaningOf({ description, choices }: InputField): string {
  const values = choices.length === 0 ? "" : `One of ${choices.slice(0, 12).join(", ")}.`;
  return [description, values].filter((each) => each !== "").join(" ") || "–";
}

/** How a resource is called and what it answers, as its seller states it. */
export function ListingSchemas({ listing }: { listing: Listing }) {
  const { input, output, schema } = readBlock(listing);
  if (listing.type === "mcp") {
    const tool = input["inputSchema"];
    if (tool === undefined) return <Empty title="The seller states no schema" />;
    return <CodeBlock name="the schema of the tool's input" code={write(tool)} />;
  }
  const fields = formOf(listing, listing.method === "GET" ? "GET" : "POST");
  const answer: JsonObject | null = schemaOf(schema, "output", "example");
  const type = asTexts([output["type"]])[0];
  return (
    <div className="stack">
      <div className={styles["schema"]}>
        <h3>Parameters</h3>
        <Inputs fields={fields} />
      </div>
      <div className={styles["schema"]}>
        <h3>Response{type === undefined ? "" : ` (${type.slice(0, 40)})`}</h3>
        {output["example"] === undefined && answer === null && <p className="soft">The seller states no response.</p>}
        {output["example"] !== undefined && <CodeBlock name="an example of the response" code={write(output["example"])} />}
        {answer !== null && (
          <details className={styles["fold"]}>
            <summary>Schema of the response</summary>
            <CodeBlock name="the schema of the response" code={write(answer)} />
          </details>
        )}
      </div>
    </div>
  );
}
