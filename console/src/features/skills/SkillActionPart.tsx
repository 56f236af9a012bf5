import { Badge } from "@/ui/Badge";
import { CodeBlock } from "@/ui/CodeBlock";
import { Card } from "@/ui/Page";
import { Table } from "@/ui/Table";
import styles from "./Skills.module.css";
import type { SkillAction } from "./spec";
import { describeAuth } from "./spec";

const write = (value: unknown): string => JSON.stringify(value, null, 2) ?? "";

const REPEATS: Record<string, string> = {
  natural: "The same request has its effect once.",
  key: "Repeat it with the same Idempotency-Key.",
  none: "A repetition is a new request.",
};

/** One action of a skill; its schemas and errors open on demand. */
export function SkillActionPart({ action }: { action: SkillAction }) {
  return (
    <Card>
      <div className={styles["head"]}>
        <h3>{action.title}</h3>
        <Badge tone={action.kind === "pay" || action.kind === "submit" ? "warn" : "neutral"}>{action.kind}</Badge>
      </div>
      <p>{action.summary}</p>
      <p className={styles["meta"]}>
        <code>{action.endpoint}</code>
        {action.tool !== null && (
          <>
            {" "}
            tool <code>{action.tool}</code>
          </>
        )}{" "}
        · needs {describeAuth(action.authMode)} · {REPEATS[action.idempotency] ?? ""}
      </p>
      {action.procedure.length > 0 && (
        <ol className={styles["procedure"]}>
          {action.procedure.map((each) => (
            <li key={each}>{each}</li>
          ))}
        </ol>
      )}
      <div>
      <details className={styles["details"]}>
        <summary>Input</summary>
        <CodeBlock name={`the input of ${action.name}`} code={write(action.input)} />
      </details>
      <details className={styles["details"]}>
        <summary>Output</summary>
        <CodeBlock name={`the output of ${action.name}`} code={write(action.output)} />
      </details>
      {action.errors.length > 0 && (
        <details className={styles["details"]}>
          <summary>Errors ({action.errors.length})</summary>
          <Table
            name={`Errors of ${action.name}`}
            rows={action.errors}
            rowKey={(each) => each.code}
            columns={[
              { id: "code", label: "Code", cell: (each) => <code className="foreign">{each.code}</code> },
              { id: "http", label: "Status", cell: (each) => <span className="numbers">{each.http}</span> },
              { id: "retry", label: "Repeat later", cell: (each) => (each.isRetryable ? "yes" : "no") },
              { id: "cause", label: "Cause", cell: (each) => each.cause },
              { id: "remedy", label: "Remedy", cell: (each) => each.remedy },
            ]}
          />
        </details>
      )}
      </div>
    </Card>
  );
}
