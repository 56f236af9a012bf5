import { useEffect, useId } from "react";
import type { ReactNode } from "react";
import styles from "./Page.module.css";

interface HeadProps {
  title: string;
  /** One sentence. */
  description?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

/** A page: its title, which is the tab's title too, one sentence, its main action and its parts. */
export function Page({ title, description, actions, children }: HeadProps) {
  useEffect(() => {
    document.title = `${title} · Farebox`;
  }, [title]);
  return (
    <div className={styles["page"]}>
      <header className={styles["head"]}>
        <div>
          <h1>{title}</h1>
          {description !== undefined && <p>{description}</p>}
        </div>
        {actions !== undefined && <div className="row">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** A part of a page under a heading of its own. */
export function Section({ title, description, actions, children }: HeadProps) {
  const id = useId();
  return (
    <section className={styles["section"]} aria-labelledby={id}>
      <header className={styles["head"]}>
        <div>
          <h2 id={id}>{title}</h2>
          {description !== undefined && <p>{description}</p>}
        </div>
        {actions !== undefined && <div className="row">{actions}</div>}
      </header>
      {children}
    </section>
  );
}

export function Card({ children }: { children: ReactNode }) {
  return <div className={styles["card"]}>{children}</div>;
}

/** Cards side by side, as many as fit. */
export function Grid({ children }: { children: ReactNode }) {
  return <div className={styles["grid"]}>{children}</div>;
}

/** Names and their values. */
export function Facts({ items }: { items: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className={styles["list"]}>
      {items.map(([name, value]) => (
        <FactRow key={name} name={name} value={value} />
      ))}
    </dl>
  );
}

function FactRow({ name, value }: { name: string; value: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}
