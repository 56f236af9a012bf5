import { Copy } from "./Copy";
import { ExternalIcon } from "./icons";
import styles from "./Identifier.module.css";
import { joinClasses } from "./joinClasses";
import { explorerUrl, shorten } from "./links";

interface IdentifierProps {
  /** An address (G… or C…), a transaction hash or another long id. */
  id: string;
  /** What it is, for the buttons' names: "the transaction hash". */
  name: string;
  /** With a network, an address or a hash gets a link to the explorer. */
  network?: string | undefined;
  isFull?: boolean;
}

/** A long id: shortened, to copy, and with the explorer's page where there is one. */
export function Identifier({ id, name, network, isFull = false }: IdentifierProps) {
  const url = network === undefined ? null : explorerUrl(network, id);
  return (
    <span className={styles["identifier"]}>
      <span className={joinClasses(styles["text"], !isFull && styles["short"])} title={id}>
        {isFull ? id : shorten(id)}
      </span>
      <Copy text={id} name={name} isSmall />
      {url !== null && (
        <a
          className={styles["icon"]}
          href={url}
          target="_blank"
          rel="noopener noreferrer"
          title={`Open ${new URL(url).host}`}
          aria-label={`${name} at ${new URL(url).host}, opens in a new tab`}
        >
          <ExternalIcon />
        </a>
      )}
    </span>
  );
}
