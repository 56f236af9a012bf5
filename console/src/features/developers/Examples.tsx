import { useAddressParameter } from "@/ui/address";
import { CodeBlock } from "@/ui/CodeBlock";
import { Select } from "@/ui/Field";
import { Card, Section } from "@/ui/Page";
import { Tabs } from "@/ui/Tabs";
import { EXAMPLE_REQUESTS, LANGUAGES, writeExample } from "./exampleRequests";

const ERROR = JSON.stringify(
  {
    error: {
      code: "scope_missing",
      message: "The key needs the scope wrappers.",
      requestId: "5a1f0c2e9b7d4466",
    },
  },
  null,
  2,
);

/** Requests to copy, in three languages, for this service. */
export function Examples() {
  const [language, setLanguage] = useAddressParameter("language", "curl");
  const [id, setId] = useAddressParameter("example", EXAMPLE_REQUESTS[0]?.id);
  const request = EXAMPLE_REQUESTS.find((each) => each.id === id) ?? EXAMPLE_REQUESTS[0];
  if (!request) return null;
  return (
    <div className="stack">
      <Section
        title="Requests"
        description={
          <>
            Put a key into the environment as <code>FAREBOX_KEY</code>; it stands in no code. All routes are in{" "}
            <a href="/v1/openapi.json">/v1/openapi.json</a>.
          </>
        }
        actions={
          <Select
            isInline
            label="Example"
            value={request.id}
            onChange={setId}
            options={EXAMPLE_REQUESTS.map((each) => ({ value: each.id, label: each.title }))}
          />
        }
      >
        <Tabs
          name="Languages"
          selected={language}
          onSelect={setLanguage}
          tabs={LANGUAGES.map((each) => ({
            id: each.id,
            label: each.label,
            content: (
              <CodeBlock
                name={`${request.title} in ${each.label}`}
                code={writeExample(request, each.id, window.location.origin)}
              />
            ),
          }))}
        />
        <p className="soft">
          {request.scope === null ? (
            "This request needs no key."
          ) : (
            <>
              The key needs the scope <code>{request.scope}</code>.
            </>
          )}
        </p>
      </Section>
      <RequestIds />
    </div>
  );
}

function RequestIds() {
  return (
    <Section
      title="Request ids"
      description="Every answer has an id in the header x-request-id, and every error in its body."
    >
      <Card>
        <p>
          Quote the id in a report: it finds the request in the service&rsquo;s log, and the event in your audit log
          that a change has written. <code>code</code> is for programs and stays; <code>message</code> is for people
          and may change.
        </p>
        <CodeBlock name="an error" code={ERROR} />
      </Card>
    </Section>
  );
}
