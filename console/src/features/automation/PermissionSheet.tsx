import styles from "./Automation.module.css";

const WORST = /^worst case/i;

/** What a plan may do, a sentence a rule; the worst case stands out. */
export function PermissionSheet({ sentences }: { sentences: readonly string[] }) {
  const rules = sentences.filter((each) => !WORST.test(each));
  const worst = sentences.filter((each) => WORST.test(each));
  return (
    <div className="stack">
      <ul className={styles["sheet"]}>
        {rules.map((each) => (
          <li key={each} className="foreign">
            {each}
          </li>
        ))}
      </ul>
      {worst.map((each) => (
        <p key={each} className={styles["worst"]}>
          {each}
        </p>
      ))}
    </div>
  );
}
