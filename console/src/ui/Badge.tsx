import type { ReactNode } from "react";
import styles from "./Badge.module.css";
import { joinClasses } from "./joinClasses";

export type BadgeTone = "neutral" | "good" | "warn" | "bad" | "accent";

/** A state in one or two words. The word says it; the colour only repeats it. */
export function Badge({ tone = "neutral", children }: { tone?: BadgeTone; children: ReactNode }) {
  return <span className={joinClasses(styles["badge"], styles[tone])}>{children}</span>;
}
