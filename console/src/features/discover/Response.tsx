import { CodeBlock } from "@/ui/CodeBlock";
import styles from "./Discover.module.css";
import type { Delivery } from "./purchase";
import { textOf } from "./purchase";

const MAX_SHOWN = 100_000;

/** The response as text: a stranger's, never markup and never run. */
export function Response({ delivery }: { delivery: Delivery }) {
  const text = textOf(delivery);
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}\n… (cut off here; ${text.length} characters in all)` : text;
  const kind = delivery.contentType === "" ? "" : `, ${delivery.contentType.slice(0, 80)}`;
  return (
    <div className={styles["schema"]}>
      <h3>Response</h3>
      <p className="soft foreign">
        Status {delivery.status}
        {kind}
        {delivery.encoding === "base64" && ", shown in base64"}
      </p>
      <CodeBlock name="the response" code={shown === "" ? "(empty)" : shown} isWrapped />
    </div>
  );
}
