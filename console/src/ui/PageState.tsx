import { useEffect, useState } from "react";
import type { ReactNode } from "react";
import { Button } from "./Button";
import { adviceOf, failureOf, isOutage, titleOf } from "./failure";
import { joinClasses } from "./joinClasses";
import styles from "./PageState.module.css";
import { formatSeconds } from "./time";

export function Loading({ name = "the page" }: { name?: string }) {
  return (
    <div className={styles["loading"]} role="status">
      <span className="visually-hidden">Loading {name}</span>
      <div className={styles["bar"]} />
      <div className={styles["bar"]} />
      <div className={styles["bar"]} />
    </div>
  );
}

interface EmptyProps {
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}

/** Nothing is there yet, and what to do about it. */
export function Empty({ title, children, action }: EmptyProps) {
  return (
    <div className={joinClasses(styles["state"], styles["empty"])}>
      <h3>{title}</h3>
      {children !== undefined && <p className="soft">{children}</p>}
      {action}
    </div>
  );
}

/** The seconds of `Retry-After` that are left since `error` came; 0 when the request may be repeated. */
export function useCountdown(error: unknown, seconds: number): number {
  const [passed, setPassed] = useState(0);
  useEffect(() => {
    const came = performance.now();
    const update = () => setPassed(Math.floor((performance.now() - came) / 1000));
    update();
    if (seconds === 0) return undefined;
    const timer = setInterval(() => {
      update();
      if (performance.now() - came > seconds * 1000) clearInterval(timer);
    }, 500);
    return () => clearInterval(timer);
  }, [error, seconds]);
  return Math.max(0, seconds - passed);
}

interface ProblemProps {
  /** What was thrown: an `ApiError`, a wallet's problem or a bug. */
  error: unknown;
  /** Reads again. Not for a change that may have been made: its form decides. */
  onRetry?: (() => void) | undefined;
  isSmall?: boolean;
  children?: ReactNode;
}

/** A refusal or an outage: what happened, what to do, and the request id to quote. */
export function Problem({ error, onRetry, isSmall = false, children }: ProblemProps) {
  const failure = failureOf(error);
  const advice = adviceOf(failure);
  const left = useCountdown(error, failure.retryAfterSeconds ?? 0);
  const kind = isOutage(failure) ? "outage" : "refused";
  return (
    <div role="alert" className={joinClasses(styles["state"], styles[kind], isSmall && styles["small"])}>
      <h3>{titleOf(failure)}</h3>
      <p className="foreign">{failure.message}</p>
      {advice !== null && <p>{advice}</p>}
      {left > 0 && <p className="numbers">Try again in {formatSeconds(left)}.</p>}
      {children}
      {onRetry && (
        <Button onClick={onRetry} disabled={left > 0}>
          Try again
        </Button>
      )}
      {failure.requestId !== null && (
        <p className={styles["request"]}>
          Request id to quote: <code>{failure.requestId}</code> ({failure.code})
        </p>
      )}
    </div>
  );
}
