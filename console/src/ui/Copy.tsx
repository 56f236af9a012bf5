import { useEffect, useState } from "react";
import { Button } from "./Button";
import { CheckIcon, CopyIcon } from "./icons";
import styles from "./Identifier.module.css";
import { joinClasses } from "./joinClasses";
import { announce } from "./toast";

interface CopyProps {
  text: string;
  /** What is copied, for the button's name: "Copy the address". */
  name: string;
  /** Shown beside the icon; without it the button is an icon only. */
  label?: string;
  /** Whether it stands in a line of text. */
  isSmall?: boolean;
}

/** Copies a text to the clipboard and says so. */
export function Copy({ text, name, label, isSmall = false }: CopyProps) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setCopied(false), 2_000);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      announce(`Copied ${name}.`);
    } catch {
      announce("The browser does not allow copying. Select the text and copy it.", "bad");
    }
  };
  return (
    <Button
      kind={label === undefined ? "quiet" : "normal"}
      size={label === undefined ? "icon" : "normal"}
      aria-label={label === undefined ? `Copy ${name}` : undefined}
      className={joinClasses(isSmall && styles["inText"])}
      onClick={() => void copy()}
    >
      {isCopied ? <CheckIcon /> : <CopyIcon />}
      {label}
    </Button>
  );
}
