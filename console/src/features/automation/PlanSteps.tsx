import type { PlanDetail } from "@/api/automationTypes";
import { CheckIcon } from "@/ui/icons";
import { Card, Section } from "@/ui/Page";
import { announce } from "@/ui/toast";
import styles from "./Automation.module.css";
import { InstallSession } from "./InstallSession";
import { PayForRuns } from "./PayForRuns";
import { STEPS, stepOf } from "./planStates";
import { usePlanChanged } from "./usePlans";

/** Where a plan is on its way to its first run. */
export function Stepper({ detail: { proposal: plan } }: { detail: PlanDetail }) {
  const at = stepOf(plan);
  const steps = plan.authorityMode === "open" ? STEPS.filter((each) => each !== "Install") : STEPS;
  return (
    <ol className={styles["steps"]} aria-label="Steps">
      {steps.map((each, index) => (
        <li key={each} className={styles["step"]} data-state={index < at ? "done" : "open"} aria-current={index === at ? "step" : undefined}>
          {index < at ? <CheckIcon /> : <span className="numbers">{index + 1}</span>}
          {each}
          {index < at && <span className="visually-hidden"> (done)</span>}
        </li>
      ))}
    </ol>
  );
}

/** The next step of a plan that does not run yet. */
export function NextStep({ detail }: { detail: PlanDetail }) {
  const { proposal: plan, quote } = detail;
  const changed = usePlanChanged();
  if (plan.status === "proposed" || plan.status === "payment_pending") {
    return (
      <Section title="Pay for the runs">
        <Card>
          <PayForRuns
            plan={plan}
            quote={quote}
            onPaid={({ proposal }) => {
              changed({ proposal });
              announce("The runs are paid.", "good");
            }}
          />
        </Card>
      </Section>
    );
  }
  if (plan.status !== "paid") return null;
  return (
    <Section
      title={plan.authorityMode === "open" ? "Activate" : "Install and activate"}
      description={plan.authorityMode === "open" ? "The first run is tried without sending it." : "Read what the signature allows. Nothing else can be done with it."}
    >
      <Card>
        <InstallSession
          plan={plan}
          onActivated={(activated) => {
            changed(activated);
            const isActive = activated.proposal.status !== "paid";
            announce(isActive ? `“${plan.title}” is active.` : "The installation was sent. The plan becomes active by itself.", "good");
          }}
        />
      </Card>
    </Section>
  );
}
