import styles from "./CodeBlock.module.css";
import { Copy } from "./Copy";
import { joinClasses } from "./joinClasses";

interface CodeBlockProps {
  code: string;
  /** What it is: "the request", "the answer". */
  name: string;
  isWrapped?: boolean;
}

/** Code or JSON as plain text, to copy. */
export function CodeBlock({ code, name, isWrapped = false }: CodeBlockProps) {
  return (
    <div className={joinClasses(styles["block"], isWrapped && styles["wrap"])}>
      {/* A keyboard scrolls it. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre tabIndex={0} role="region" aria-label={name}>
        <code>{code}</code>
      </pre>
      <div className={styles["copy"]}>
        <Copy text={code} name={name} />
      </div>
    </div>
  );
}
