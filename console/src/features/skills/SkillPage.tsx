import { useQuery } from "@tanstack/react-query";
import { call } from "@/api/client";
import { keys } from "@/api/keys";
import { NETWORK_NAMES } from "@/api/networks";
import type { Network } from "@/api/types";
import { PageLink, useAddressParameter, usePathParameter } from "@/ui/address";
import { Answer } from "@/ui/Answer";
import { CodeBlock } from "@/ui/CodeBlock";
import { Select } from "@/ui/Field";
import { Card, Facts, Page, Section } from "@/ui/Page";
import { SkillActionPart } from "./SkillActionPart";
import styles from "./Skills.module.css";
import type { SkillSpec } from "./spec";
import { describeAuth, installCommand, mcpConfiguration, readSpec } from "./spec";

/** One skill: what it may do, its actions with their schemas and errors, and how to install it. */
export function SkillPage() {
  const slug = usePathParameter("slug");
  const [version, setVersion] = useAddressParameter("version");
  const query = useQuery({
    queryKey: [...keys.skills, slug, version],
    queryFn: ({ signal }) => call("GET /v1/skills/{slug}/spec", { path: { slug }, query: { version } }, { signal }),
    staleTime: 300_000,
  });
  const versions = useQuery({
    queryKey: [...keys.skills, slug, "versions"],
    queryFn: ({ signal }) => call("GET /v1/skills/{slug}/versions", { path: { slug } }, { signal }),
    staleTime: 300_000,
  });
  const known = versions.data?.items ?? [];
  const spec = query.data === undefined ? null : readSpec(query.data);
  return (
    <Page title={spec?.name ?? "Skill"} description={spec?.description} actions={<PageLink to="/skills">All skills</PageLink>}>
      {known.length > 1 && (
        <Select
          label="Version"
          value={version}
          onChange={setVersion}
          options={[
            { value: "", label: "The newest" },
            ...known.map((each) => ({ value: each.version, label: each.version })),
          ]}
        />
      )}
      <Answer query={query} name="the skill">
        {(data) => <Spec slug={slug} spec={readSpec(data)} />}
      </Answer>
    </Page>
  );
}

function safetyOf({ safety }: SkillSpec): string {
  if (safety["movesFunds"] !== true) return "It moves no money.";
  const bound = typeof safety["maxExposure"] === "string" ? ` The loss is bounded by ${safety["maxExposure"]}.` : "";
  const isSigned = safety["requiresWalletSignature"] === true;
  return `It moves money${isSigned ? ", with the signature of a wallet" : ""}.${bound}`;
}

function Spec({ slug, spec }: { slug: string; spec: SkillSpec }) {
  return (
    <>
      <Card>
        <Facts
          items={[
            ["Name for programs", <code key="slug">{slug}</code>],
            ["Version", spec.version],
            ["Category", spec.category],
            ["Needs", describeAuth(spec.authMode)],
            ["Networks", spec.networks.map((each) => NETWORK_NAMES[each as Network] ?? each).join(", ")],
            ["Money", safetyOf(spec)],
          ]}
        />
      </Card>
      {spec.examples.length > 0 && (
        <Section title="What it is for">
          <ul className={styles["examples"]}>
            {spec.examples.map((each) => (
              <li key={each}>{each}</li>
            ))}
          </ul>
        </Section>
      )}
      <Section title="Actions" description="Each with its endpoint, the JSON schemas of its input and output, and its errors.">
        {spec.actions.map((action) => (
          <SkillActionPart key={action.name} action={action} />
        ))}
      </Section>
      {spec.limits.length > 0 && (
        <Section title="Limits">
          <ul className={styles["examples"]}>
            {spec.limits.map((each) => (
              <li key={each}>{each}</li>
            ))}
          </ul>
        </Section>
      )}
      <Install slug={slug} />
    </>
  );
}

function Install({ slug }: { slug: string }) {
  const { origin } = window.location;
  return (
    <Section title="Install it" description="As a file in the Agent Skills format, or through the MCP server of this service.">
      <h3>As a skill</h3>
      <CodeBlock name="the commands" code={installCommand(origin, slug)} />
      <h3>As an MCP server</h3>
      <CodeBlock name="the configuration" code={mcpConfiguration(origin)} />
      <p>
        The same as files: <a href={`/v1/skills/${encodeURIComponent(slug)}/SKILL.md`}>SKILL.md</a>,{" "}
        <a href={`/v1/skills/${encodeURIComponent(slug)}/openapi.json`}>openapi.json</a>,{" "}
        <a href={`/v1/skills/${encodeURIComponent(slug)}/mcp-tools.json`}>mcp-tools.json</a>.
      </p>
    </Section>
  );
}
