import type { ReactNode } from "react";
import { joinClasses } from "./joinClasses";
import styles from "./Note.module.css";

/** A sentence that stands out on a page: a hint, a warning, or good news that has to stay. */
export function Note({ tone = "accent", children }: { tone?: "accent" | "warn" | "good" | "bad"; children: ReactNode }) {
  return <div className={joinClasses(styles["note"], styles[tone])}>{children}</div>;
}
