import { useId, useLayoutEffect, useRef } from "react";
import type { ReactNode } from "react";
import { Button } from "./Button";
import styles from "./Dialog.module.css";
import { CloseIcon } from "./icons";
import { joinClasses } from "./joinClasses";

const FOCUSABLE = "input, select, textarea, button, a[href]";

interface DialogProps {
  title: ReactNode;
  onClose: () => void;
  /** False while something must not be left half done: Escape and the cross do nothing. */
  isClosable?: boolean;
  isWide?: boolean;
  children: ReactNode;
}

/**
 * A modal dialog: the browser's own element, which keeps the focus inside, closes by Escape and
 * returns the focus. Rendered while it is open: `{isOpen && <Dialog …>}`.
 */
export function Dialog({ title, onClose, isClosable = true, isWide = false, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Before the element leaves the page: a dialog gives the focus back only while it is in it.
  useLayoutEffect(() => {
    const dialog = element.current;
    if (!dialog) return undefined;
    if (!dialog.open) dialog.showModal();
    // The first thing to fill in or to press, rather than the cross.
    dialog.querySelector<HTMLElement>(`[data-body] :is(${FOCUSABLE})`)?.focus();
    return () => dialog.close();
  }, []);
  return (
    <dialog
      ref={element}
      className={joinClasses(styles["dialog"], isWide && styles["wide"])}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        if (isClosable) onClose();
      }}
      onClose={({ currentTarget: dialog }) => {
        // A browser closes at the second Escape whatever a page says.
        if (dialog.open) return;
        if (isClosable) onClose();
        else dialog.showModal();
      }}
    >
      <div className={styles["head"]}>
        <h2 id={id}>{title}</h2>
        {isClosable && (
          <Button kind="quiet" size="icon" aria-label="Close" onClick={onClose}>
            <CloseIcon />
          </Button>
        )}
      </div>
      <div className={styles["body"]} data-body>{children}</div>
    </dialog>
  );
}

/** The row of buttons at a dialog's or a form's end; the main one is the last. */
export function Actions({ children }: { children: ReactNode }) {
  return <div className={styles["actions"]}>{children}</div>;
}
