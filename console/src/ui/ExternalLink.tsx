import type { ReactNode } from "react";
import { ExternalIcon } from "./icons";
import styles from "./Identifier.module.css";
import { readHttpsUrl } from "./links";

interface ExternalLinkProps {
  /** A stranger's text: anything but an https URL is shown as text. */
  href: string;
  children?: ReactNode;
}

/** A link that leaves the console. It shows the host that it leads to. */
export function ExternalLink({ href, children }: ExternalLinkProps) {
  const url = readHttpsUrl(href);
  if (!url) return <span className="foreign">{children ?? href}</span>;
  return (
    <a className="foreign" href={url.href} target="_blank" rel="noopener noreferrer">
      {children ?? url.href}
      {children !== undefined && <span className="soft"> ({url.host})</span>}
      <span className={styles["external"]}>
        <ExternalIcon />
      </span>
      <span className="visually-hidden"> opens in a new tab</span>
    </a>
  );
}
