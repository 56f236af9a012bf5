import type { PlanDetail } from "@/api/automationTypes";
import { readReceipts } from "@/api/automations";
import { PageLink, useAddressParameter, usePathParameter } from "@/ui/address";
import { Answer } from "@/ui/Answer";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { useForm } from "@/ui/form";
import { FormFrame } from "@/ui/FormFrame";
import { Note } from "@/ui/Note";
import { Card, Page, Section } from "@/ui/Page";
import { Problem } from "@/ui/PageState";
import { saveFile } from "@/ui/saveFile";
import { Tabs } from "@/ui/Tabs";
import styles from "./Automation.module.css";
import { EventList } from "./EventList";
import { PermissionSheet } from "./PermissionSheet";
import { PlanActions } from "./PlanActions";
import { PlanFacts, RunFigures } from "./PlanFacts";
import { explainPlan, hasEnded, STATUSES, stepOf } from "./planStates";
import { NextStep, Stepper } from "./PlanSteps";
import { PreflightList } from "./PreflightList";
import { RevokeSession } from "./RevokeSession";
import { RunCalendar } from "./RunCalendar";
import { RunHistory } from "./RunHistory";
import { useOpenRuns } from "./usePayRuns";
import { usePlan, usePreflight } from "./usePlans";

function Checks({ detail: { proposal: plan } }: { detail: PlanDetail }) {
  const query = usePreflight(plan.id);
  return (
    <Section
      title="Checks"
      description="Whether the first run would succeed now."
      actions={
        <Button size="small" isPending={query.isFetching} onClick={() => void query.refetch()}>
          {query.data ? "Check again" : "Check now"}
        </Button>
      }
    >
      {query.error && <Problem error={query.error} isSmall />}
      {query.data && (
        <Card>
          <PreflightList preflight={query.data} network={plan.network} />
        </Card>
      )}
    </Section>
  );
}

function Overview({ detail }: { detail: PlanDetail }) {
  const { proposal: plan, session } = detail;
  const isSetUp = stepOf(plan) === 4;
  useOpenRuns(plan.id);
  return (
    <div className={styles["sections"]}>
      <NextStep detail={detail} />
      {!hasEnded(plan) && (
        <Section title="Next runs">
          <Card>
            <RunCalendar runs={plan.status === "paused" ? [] : plan.nextRuns} />
          </Card>
        </Section>
      )}
      {session !== null && session.permissions.length > 0 && (plan.status !== "paid" || plan.authorityMode === "open") && (
        <Section title={hasEnded(plan) ? "What it was allowed to do" : isSetUp || plan.authorityMode === "open" ? "What it may do" : "What you will authorize"}>
          <Card>
            <PermissionSheet sentences={session.permissions} />
          </Card>
        </Section>
      )}
      {!hasEnded(plan) && <Checks detail={detail} />}
      <RevokeSession plan={plan} session={session} />
    </div>
  );
}

function Receipts({ detail: { proposal: plan } }: { detail: PlanDetail }) {
  const form = useForm<object, string>({
    initial: {},
    submit: () => readReceipts(plan.id),
    onDone: (text) => saveFile(`receipts-${plan.id}.ndjson`, "application/x-ndjson", text),
  });
  return (
    <FormFrame form={form} name="Receipts">
      <div className="row">
        <Button type="submit" isPending={form.isPending}>
          Download the signed receipts
        </Button>
        <span className="soft">A line of JSON for each run; anyone can check the signature.</span>
      </div>
    </FormFrame>
  );
}

function Shown({ detail }: { detail: PlanDetail }) {
  const { proposal: plan, session } = detail;
  const [tab, setTab] = useAddressParameter("tab", "overview");
  const { happened, next, tone } = explainPlan(plan);
  return (
    <>
      <div role="status">
        <Note tone={tone}>
          <strong>{happened}</strong> {next}
        </Note>
      </div>
      {stepOf(plan) < 4 && <Stepper detail={detail} />}
      {stepOf(plan) === 4 && <RunFigures plan={plan} />}
      <Tabs
        name={plan.title}
        selected={tab}
        onSelect={setTab}
        tabs={[
          { id: "overview", label: "Overview", content: <Overview detail={detail} /> },
          {
            id: "runs",
            label: "Runs",
            content: (
              <div className="stack">
                <RunHistory plan={plan} />
                <Receipts detail={detail} />
              </div>
            ),
          },
          { id: "events", label: "Events", content: <EventList plan={plan} /> },
          { id: "details", label: "Details", content: <PlanFacts plan={plan} session={session} /> },
        ]}
      />
    </>
  );
}

/** One plan: its state, what to do next, what it may do, its runs. */
export function PlanPage() {
  const query = usePlan(usePathParameter("id"));
  const plan = query.data?.proposal;
  return (
    <Page
      title={plan?.title ?? "Plan"}
      description={
        <span className="row">
          {plan !== undefined && <Badge tone={STATUSES[plan.status].tone}>{plan.isCancelling ? "Cancelling" : STATUSES[plan.status].label}</Badge>}
          <PageLink to="/automation">All plans</PageLink>
        </span>
      }
      actions={query.data && <PlanActions detail={query.data} />}
    >
      <Answer query={query} name="the plan">
        {(detail) => <Shown detail={detail} />}
      </Answer>
    </Page>
  );
}
