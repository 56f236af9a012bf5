import type { ReactNode } from "react";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { CodeBlock } from "@/ui/CodeBlock";
import { Note } from "@/ui/Note";
import { Card, Section } from "@/ui/Page";
import { Loading, Problem } from "@/ui/PageState";
import { inWords } from "./callReasons";
import { writeUnpaidHead } from "./offer";
import styles from "./Sell.module.css";
import type { Check } from "./useWrappers";
import { useCheck } from "./useWrappers";
import type { Wrapper } from "./wrapperDraft";

interface RowProps {
  isGood: boolean;
  children: ReactNode;
}

function CheckRow({ isGood, children }: RowProps) {
  return (
    <li>
      <Badge tone={isGood ? "good" : "bad"}>{isGood ? "Passed" : "To mend"}</Badge>
      <span className="foreign">{children}</span>
    </li>
  );
}

/** Whether a status of the HEAD request says that a paid request would fail as well. */
const isRefusal = (status: number | null): boolean => status === 401 || status === 403 || status === 407;

function upstreamSentence({ status, latencyMs, problem }: Check["upstream"]): string {
  if (problem !== null) return inWords(problem);
  const answered = `Your API answered a HEAD request with ${status} in ${latencyMs} ms.`;
  if (isRefusal(status)) return `${answered} It refuses the credential: look at the secret.`;
  if (status !== null && status >= 500) return `${answered} It has an error of its own now.`;
  return status === 404 || status === 405 ? `${answered} Many APIs do not take HEAD: paid requests are sent by their own method.` : answered;
}

function Result({ check }: { check: Check }) {
  const { settingsProblem, credentialProblem, upstream } = check;
  const isUpstreamGood = upstream.problem === null && !isRefusal(upstream.status) && (upstream.status ?? 500) < 500;
  return (
    <>
      <Card>
        <ul className={styles["checks"]}>
          <CheckRow isGood={settingsProblem === null}>
            {settingsProblem === null ? "The API's address is public, and every recipient can be paid." : inWords(settingsProblem)}
          </CheckRow>
          <CheckRow isGood={credentialProblem === null}>
            {credentialProblem ?? "The credential can be read, or none is needed."}
          </CheckRow>
          <CheckRow isGood={isUpstreamGood}>{upstreamSentence(upstream)}</CheckRow>
        </ul>
      </Card>
      <details className={styles["fold"]}>
        <summary>What a buyer gets before paying (402)</summary>
        <div className="stack">
          <CodeBlock name="the offer" code={JSON.stringify(check.offer, null, 2)} isWrapped />
          <p className="soft">It is the body of the answer, and in base64 it is in its head:</p>
          <CodeBlock name="the head of the answer" code={writeUnpaidHead(check.offer)} isWrapped />
        </div>
      </details>
    </>
  );
}

/** Tries the wrapper without a payment. Only a click does it: the API gets a request. */
export function CheckSection({ wrapper }: { wrapper: Wrapper }) {
  const query = useCheck(wrapper.id);
  const check = query.isFetching ? undefined : query.data;
  return (
    <Section
      title="Check"
      description="The gateway sends your API one HEAD request with the credential. Nobody pays."
      actions={
        <Button
          kind={wrapper.enabled || query.data?.ready ? "normal" : "primary"}
          isPending={query.isFetching}
          onClick={() => void query.refetch()}
        >
          {query.data === undefined ? "Run the check" : "Run it again"}
        </Button>
      }
    >
      {query.isFetching && <Loading name="the result of the check" />}
      {!query.isFetching && query.error !== null && <Problem error={query.error} isSmall />}
      {check !== undefined && (
        <>
          <Note tone={check.ready ? "good" : "warn"}>
            <span role="status">
              {check.ready
                ? "Ready: a paid request reaches your API."
                : "Not ready: a paid request would not reach your API. See what to mend below."}
            </span>
          </Note>
          <Result check={check} />
        </>
      )}
    </Section>
  );
}
