import type { ReactNode } from "react";
import type { PlanPreview as Preview } from "@/api/automationTypes";
import type { Network } from "@/api/types";
import { Badge } from "@/ui/Badge";
import { Note } from "@/ui/Note";
import { Card } from "@/ui/Page";
import { Problem } from "@/ui/PageState";
import styles from "./Automation.module.css";
import { PermissionSheet } from "./PermissionSheet";
import { MODES } from "./planStates";
import { PreflightList } from "./PreflightList";
import { QuoteText } from "./QuoteText";
import { RunCalendar } from "./RunCalendar";

/** The key of a preview, which stands for one that is made for each proposal: 32 bytes of zero. */
const NO_KEY = /\bGA{40,}[A-Z2-7]{1,8}\b/g;

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="stack">
      <h3>{title}</h3>
      {children}
    </div>
  );
}

function Shown({ preview, network }: { preview: Preview; network: Network }) {
  return (
    <>
      <Part title="Next runs">
        <RunCalendar runs={preview.schedule} />
      </Part>
      <Part title="What you would authorize">
        <p className="soft">{MODES[preview.authorityMode]?.what}</p>
        <PermissionSheet sentences={preview.permissions.map((each) => each.replace(NO_KEY, "(made when you propose)"))} />
      </Part>
      <Part title="Checks">
        <PreflightList preflight={preview.preflight} network={network} />
      </Part>
      <Part title="Price">
        <QuoteText quote={preview.quote} isFinal={false} />
      </Part>
      {preview.warnings.map((each) => (
        <Note key={each} tone="warn">
          <span className="foreign">{each}</span>
        </Note>
      ))}
    </>
  );
}

interface PlanPreviewProps {
  preview: Preview | undefined;
  failure: unknown;
  /** Whether the failure stands at a field already. */
  isAtField: boolean;
  isBehind: boolean;
  isComplete: boolean;
  /** Whether plans can be proposed on the network now. */
  isOffered: boolean;
  network: Network;
  onRetry: () => void;
}

/** What the plan in the form would be. Nothing of it is kept. */
export function PlanPreview({ preview, failure, isAtField, isBehind, isComplete, isOffered, network, onRetry }: PlanPreviewProps) {
  return (
    // A keyboard scrolls it.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <aside className={styles["preview"]} aria-label="Preview" tabIndex={0}>
      <Card>
        <div className="row" role="status">
          <h2>Preview</h2>
          {isBehind ? <Badge>Updating</Badge> : preview && isComplete && !failure && (
            <Badge tone={preview.preflight.ok ? "good" : "warn"}>{preview.preflight.ok ? "All checks pass" : "Look at the checks"}</Badge>
          )}
        </div>
        {isComplete && !isOffered && <p className="soft">There is no preview while this service runs no plans on this network.</p>}
        {!isComplete && <p className="soft">Fill in the form: the next runs, the price and what you would authorize appear here.</p>}
        {isComplete && Boolean(failure) && !isBehind && (isAtField ? (
          <Note tone="warn">The service refuses a value of the form; it says why at the field.</Note>
        ) : (
          <Problem error={failure} isSmall onRetry={onRetry} />
        ))}
        {isComplete && preview !== undefined && !failure && (
          <div className={isBehind ? `stack ${styles["behind"]}` : "stack"}>
            <Shown preview={preview} network={network} />
          </div>
        )}
      </Card>
    </aside>
  );
}
