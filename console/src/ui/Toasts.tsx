import { useSyncExternalStore } from "react";
import { joinClasses } from "./joinClasses";
import { readToasts, subscribe } from "./toast";
import styles from "./Toasts.module.css";

/** The live region of the page; rendered once by the shell. */
export function Toasts() {
  const toasts = useSyncExternalStore(subscribe, readToasts);
  return (
    <div className={styles["region"]} role="status" aria-live="polite">
      {toasts.map((each) => (
        <div key={each.id} className={joinClasses(styles["toast"], styles[each.tone])}>
          {each.text}
        </div>
      ))}
    </div>
  );
}
