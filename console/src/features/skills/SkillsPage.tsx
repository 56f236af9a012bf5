import { useQuery } from "@tanstack/react-query";
import { call } from "@/api/client";
import { keys } from "@/api/keys";
import { NETWORK_NAMES } from "@/api/networks";
import type { Network, Schema } from "@/api/types";
import { PageLink, useAddress, useChangeAddress } from "@/ui/address";
import { Answer } from "@/ui/Answer";
import { Badge } from "@/ui/Badge";
import { Field, Select } from "@/ui/Field";
import { Page } from "@/ui/Page";
import { Empty } from "@/ui/PageState";
import { useTyped } from "@/ui/typed";
import styles from "./Skills.module.css";
import { describeAuth } from "./spec";

type Skill = Schema<"SkillBody">;

/** What an agent may do with this service: the skills, by words and filters that stand in the address. */
export function SkillsPage() {
  const { q = "", protocol = "", network = "", action = "" } = useAddress();
  const request = { query: q, protocol, network, action };
  const all = useQuery({
    queryKey: [...keys.skills, "all"],
    queryFn: ({ signal }) => call("GET /v1/skills", {}, { signal }),
    staleTime: 300_000,
  });
  const query = useQuery({
    queryKey: [...keys.skills, "list", request],
    queryFn: ({ signal }) => call("GET /v1/skills", { query: request }, { signal }),
    placeholderData: (before) => before,
  });
  return (
    <Page
      title="Skills"
      description="A skill is a contract for an agent: what it may do here, its inputs and outputs, its errors, and what it does to money."
    >
      <Filters all={all.data?.items ?? []} />
      <Answer
        query={query}
        name="the skills"
        isEmpty={(data) => data.items.length === 0}
        empty={
          <Empty title="No skill has these words and filters" action={<PageLink to="/skills">Show all skills</PageLink>}>
            Try other words, or fewer filters.
          </Empty>
        }
      >
        {(data) => (
          <ul className={styles["list"]}>
            {data.items.map((skill) => (
              <SkillItem key={skill.slug} skill={skill} />
            ))}
          </ul>
        )}
      </Answer>
    </Page>
  );
}

const choices = (all: string, values: Iterable<string>) => [
  { value: "", label: all },
  ...[...new Set(values)].sort().map((each) => ({ value: each, label: each })),
];

function Filters({ all }: { all: readonly Skill[] }) {
  const { q = "", protocol = "", network = "", action = "" } = useAddress();
  const change = useChangeAddress();
  const [typed, setTyped] = useTyped(q, (text) => change({ q: text }));
  return (
    <form role="search" className={styles["filters"]} onSubmit={(event) => event.preventDefault()}>
      <Field label="Search" type="search" value={typed} onChange={setTyped} maxLength={200} placeholder="receipt" />
      <Select
        label="Protocol"
        value={protocol}
        onChange={(value) => change({ protocol: value })}
        options={choices("Every protocol", all.map((each) => each.protocol))}
      />
      <Select
        label="Action"
        value={action}
        onChange={(value) => change({ action: value })}
        options={choices("Every action", all.flatMap((each) => each.actions))}
      />
      <Select
        label="Network"
        value={network}
        onChange={(value) => change({ network: value })}
        options={[
          { value: "", label: "Every network" },
          ...(Object.keys(NETWORK_NAMES) as Network[]).map((each) => ({ value: each, label: NETWORK_NAMES[each] })),
        ]}
      />
    </form>
  );
}

function SkillItem({ skill }: { skill: Skill }) {
  return (
    <li className={styles["skill"]}>
      <div className={styles["head"]}>
        <h2>
          <PageLink to={`/skills/${encodeURIComponent(skill.slug)}`}>{skill.name}</PageLink>
        </h2>
        {skill.safety.movesFunds && <Badge tone="warn">Moves money</Badge>}
        {skill.status !== "available" && <Badge>{skill.status}</Badge>}
      </div>
      <p>{skill.summary}</p>
      <p className={styles["meta"]}>
        <code>{skill.slug}</code> {skill.version} · {skill.actions.join(", ")} · needs {describeAuth(skill.authMode)}
      </p>
    </li>
  );
}
