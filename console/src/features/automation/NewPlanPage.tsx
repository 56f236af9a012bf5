import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { AutomationLimits, PlanKind } from "@/api/automationTypes";
import { readLimits } from "@/api/automations";
import { keys } from "@/api/keys";
import { useNetwork, useServedNetworks } from "@/api/networks";
import { PageLink, useGo } from "@/ui/address";
import { Answer } from "@/ui/Answer";
import { Button, buttonClasses } from "@/ui/Button";
import { Field } from "@/ui/Field";
import { Note } from "@/ui/Note";
import { Page } from "@/ui/Page";
import { Problem } from "@/ui/PageState";
import { useNow } from "@/ui/Time";
import { announce } from "@/ui/toast";
import { AdvancedFields } from "./AdvancedFields";
import styles from "./Automation.module.css";
import { CallFields } from "./CallFields";
import { PayFields } from "./PayFields";
import { bodyOf, kindOf } from "./planBody";
import { networkIn, newPlanDraft } from "./planDraft";
import { planPath } from "./planPath";
import { PlanPreview } from "./PlanPreview";
import { readRefusal } from "./planRefusal";
import { KINDS } from "./planStates";
import { ScheduleFields } from "./ScheduleFields";
import { DcaFields, RebalanceFields } from "./TradeFields";
import type { PlanForm } from "./usePlanForm";
import { usePlanForm, withRefusal } from "./usePlanForm";
import { usePreview } from "./usePreview";

function KindChoice({ form }: { form: PlanForm }) {
  return (
    <fieldset className={styles["kinds"]}>
      <legend className="visually-hidden">Kind of plan</legend>
      {Object.entries(KINDS).map(([kind, { label, what }]) => (
        <label key={kind} className={styles["kind"]}>
          <input type="radio" name="kind" checked={form.draft["kind"] === kind} onChange={() => form.set("kind", kind)} />
          <strong>{label}</strong>
          {what}
        </label>
      ))}
    </fieldset>
  );
}

function KindFields({ form, venues }: { form: PlanForm; venues: readonly string[] }) {
  switch (kindOf(form.draft)) {
    case "contract_call":
      return <CallFields form={form} />;
    case "dca":
      return <DcaFields form={form} venues={venues} />;
    case "rebalance":
      return <RebalanceFields form={form} venues={venues} />;
    case "disbursement":
      return <PayFields form={form} />;
  }
}

/** Leads to the field of a refusal: the form is long. */
function useRefusalFocus(failure: unknown) {
  const element = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (failure !== null) element.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [failure]);
  return element;
}

function NewPlanForm({ limits, kind }: { limits: AutomationLimits; kind: PlanKind }) {
  const go = useGo();
  const client = useQueryClient();
  const network = useNetwork();
  const usdc = useServedNetworks().find((each) => each.network === network)?.usdc.contract ?? "";
  const offered = limits.networks.find((each) => each.network === network);
  const now = useNow();
  const made = usePlanForm({
    network,
    initial: newPlanDraft(kind, { network, usdc, venue: offered?.venues[0] ?? "soroswap", now }),
    rules: {
      interval: limits.shortestIntervalSeconds,
      poll: limits.shortestPollSeconds,
      runs: limits.runs,
      receivers: limits.receiversPerSession,
      batchReceivers: limits.receiversPerBatch,
    },
    onDone: (detail) => {
      client.setQueryData([...keys.automations, "one", detail.proposal.id], detail);
      void client.invalidateQueries({ queryKey: [...keys.automations, "list"] });
      announce(`Proposed “${detail.proposal.title}”.`, "good");
      go(planPath(detail.proposal.id));
    },
  });
  const isComplete = Object.values(made.problems).every((each) => each === undefined);
  const preview = usePreview(isComplete && offered?.isAvailable ? bodyOf(made.draft, made.tokenOf) : null);
  const { error } = preview.query;
  const refused = error && !preview.isBehind ? { draft: made.draft, failure: error } : null;
  const form = withRefusal(made, refused);
  const isAtField = refused !== null && readRefusal(form.draft, error) !== null;
  const element = useRefusalFocus(form.failure);
  const here = networkIn(limits, form.draft);
  return (
    <div className={styles["columns"]}>
      <form
        ref={element}
        className={styles["form"]}
        aria-label="New plan"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void form.submit();
        }}
      >
        {!here?.isAvailable && (
          <Note tone="warn">This service runs no plans on this network now. Its operator has to set up and fund the account that pays the network fees.</Note>
        )}
        <KindChoice form={form} />
        <Field label="Title" maxLength={80} placeholder="Weekly purchase" {...form.field("title")} />
        <KindFields form={form} venues={here?.venues ?? []} />
        <ScheduleFields form={form} isCall={kindOf(form.draft) === "contract_call"} />
        <AdvancedFields form={form} modes={here?.modes ?? []} days={Math.floor(limits.horizonSeconds / 86_400)} />
        {form.failure !== null && <Problem error={form.failure} isSmall />}
        <div className={styles["submit"]}>
          <PageLink to="/automation" className={buttonClasses()}>
            Cancel
          </PageLink>
          <Button type="submit" kind="primary" isPending={form.isPending}>
            Propose the plan
          </Button>
        </div>
        <p className="soft">Proposing costs nothing and authorizes nothing. You pay and sign on the next page.</p>
      </form>
      <PlanPreview
        preview={preview.query.data}
        failure={error}
        isAtField={isAtField}
        isBehind={preview.isBehind}
        isComplete={isComplete}
        isOffered={here?.isAvailable ?? false}
        network={network}
        onRetry={() => void preview.query.refetch()}
      />
    </div>
  );
}

/** The form of a new plan, with a live preview. */
export function NewPlanPage() {
  const query = useQuery({ queryKey: [...keys.automations, "limits"], queryFn: ({ signal }) => readLimits(signal) });
  const served = useServedNetworks();
  return (
    <Page title="New plan" description="A plan acts by itself, only inside what your wallet authorizes for it.">
      <Answer query={query} name="the limits of plans">
        {(limits) => served.length > 0 && <NewPlanForm limits={limits} kind="contract_call" />}
      </Answer>
    </Page>
  );
}
