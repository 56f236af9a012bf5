import type { Plan, PlanSession } from "@/api/automationTypes";
import { NETWORK_NAMES } from "@/api/networks";
import { Badge } from "@/ui/Badge";
import { CodeBlock } from "@/ui/CodeBlock";
import { Copy } from "@/ui/Copy";
import { Identifier } from "@/ui/Identifier";
import { Money } from "@/ui/Money";
import { Card, Facts, Section } from "@/ui/Page";
import { Time } from "@/ui/Time";
import styles from "./Automation.module.css";
import { KINDS, MISSED, MODES } from "./planStates";
import { describeSchedule } from "./scheduleDraft";

/** The figures of a plan's runs. */
export function RunFigures({ plan }: { plan: Plan }) {
  const figures: [string, string][] = [
    ["Runs used", `${plan.runsConsumed} of ${plan.runsCredited} paid`],
    ["Run limit", String(plan.runLimit)],
    ["Authorizations used", `${plan.authorizationsUsed} of ${plan.authorizationLimit}`],
    ["Failures in a row", String(plan.failuresInRow)],
  ];
  return (
    <dl className={styles["figures"]}>
      {figures.map(([name, value]) => (
        <div key={name} className={styles["figure"]}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Every member of a plan; what was proposed is never changed afterwards. */
export function PlanFacts({ plan, session }: { plan: Plan; session: PlanSession | null }) {
  return (
    <div className={styles["sections"]}>
      <Section title="Plan">
        <Card>
          <Facts
            items={[
              ["Kind", KINDS[plan.kind].label],
              ["Network", NETWORK_NAMES[plan.network]],
              ["Account", plan.account === null ? <span key="account" className="soft">none</span> : <Identifier key="account" id={plan.account} name="the account" network={plan.network} />],
              ["Authorized by", MODES[plan.authorityMode].label],
              ["Schedule", describeSchedule(plan.schedule)],
              ["If a run is missed", MISSED[plan.missedRuns]],
              ["Largest network fee", <Money key="fee" amount={plan.maxFeeStroops} decimals={7} code="XLM" />],
              ["From", <Time key="from" at={plan.startsAt} format="short" />],
              ["Until", <Time key="until" at={plan.expiresAt} format="short" />],
              ["Proposed", <Time key="created" at={plan.createdAt} format="short" />],
              ["Key of the plan", <Identifier key="delegate" id={plan.delegate} name="the key of the plan" />],
              [
                "Policy",
                <span key="policy" className="row">
                  <code className="foreign">{plan.policyName}</code>
                  <Copy text={plan.policyId} name="the policy id" isSmall />
                </span>,
              ],
            ]}
          />
        </Card>
      </Section>
      <Section title="What it does" description="As proposed; amounts are base units.">
        <CodeBlock name="the specification" code={JSON.stringify(plan.spec, null, 2)} isWrapped />
      </Section>
      {session !== null && session.contracts.length > 0 && (
        <Section title="Contracts it relies on">
          <Card>
            <Facts
              items={session.contracts.map((each) => [
                each.role.replaceAll("_", " "),
                <span key={each.id} className="row">
                  <Identifier id={each.id} name={`the contract ${each.role}`} network={plan.network} />
                  <Badge tone={each.isAudited ? "good" : "warn"}>{each.isAudited ? "Audited" : "Not audited"}</Badge>
                </span>,
              ])}
            />
          </Card>
        </Section>
      )}
    </div>
  );
}
