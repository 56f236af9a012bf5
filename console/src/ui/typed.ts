import { useEffect, useRef, useState } from "react";

const PAUSE_MS = 300;

/**
 * A text input whose value stands in the address: `change` is called after a pause in the typing,
 * and the input follows when the address is changed by a link.
 */
export function useTyped(stated: string, change: (text: string) => void): [string, (text: string) => void] {
  const [typed, setTyped] = useState(stated);
  const [known, setKnown] = useState(stated);
  const latest = useRef(change);
  useEffect(() => {
    latest.current = change; // another parameter may have changed during the pause
  });
  if (known !== stated) {
    setKnown(stated);
    if (stated !== typed.trim()) setTyped(stated);
  }
  useEffect(() => {
    if (typed.trim() === stated) return undefined;
    const timer = setTimeout(() => latest.current(typed.trim()), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed, stated]);
  return [typed, setTyped];
}
