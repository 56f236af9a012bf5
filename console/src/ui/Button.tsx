import type { ButtonHTMLAttributes, ReactNode } from "react";
import styles from "./Button.module.css";
import { joinClasses } from "./joinClasses";

export type ButtonKind = "normal" | "primary" | "danger" | "quiet";

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: ButtonKind;
  size?: "normal" | "small" | "icon";
  /** While true the button shows a spinner and does nothing: no click is counted twice. */
  isPending?: boolean;
  children: ReactNode;
}

/** The classes of a button, for a link that looks like one. */
export function buttonClasses(kind: ButtonKind = "normal", size = "normal"): string {
  return joinClasses(styles["button"], styles[kind], styles[size]);
}

/** A button. It submits no form unless its `type` says so. */
export function Button(props: ButtonProps) {
  const { kind, size, isPending = false, className, children, onClick, ...rest } = props;
  return (
    <button
      type="button"
      {...rest}
      className={joinClasses(buttonClasses(kind, size), className)}
      aria-disabled={isPending || undefined}
      aria-busy={isPending || undefined}
      onClick={(event) => {
        if (isPending) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {isPending && <span className={styles["spinner"]} aria-hidden="true" />}
      {children}
    </button>
  );
}
