import { useSyncExternalStore } from "react";
import { formatFull, formatRelative, formatShort } from "./time";

let now = Date.now();
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** One clock for all times of a page: it ticks every 15 seconds and not in a hidden tab. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  // A page that just came must not measure from the tick before.
  if (Date.now() - now > 1_000) now = Date.now();
  timer ??= setInterval(() => {
    if (document.hidden) return;
    now = Date.now();
    for (const each of listeners) each();
  }, 15_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

export const useNow = (): number => useSyncExternalStore(subscribe, () => now);

interface TimeProps {
  /** ISO 8601, as the API writes it. */
  at: string | null | undefined;
  /** `relative`: "5 minutes ago"; `short`: the local date and time. The title has it in full. */
  format?: "relative" | "short";
  otherwise?: string;
}

export function Time({ at, format = "relative", otherwise = "never" }: TimeProps) {
  const current = useNow();
  const ms = at ? Date.parse(at) : Number.NaN;
  if (!at || Number.isNaN(ms)) return <span className="soft">{otherwise}</span>;
  return (
    <time dateTime={at} title={formatFull(ms)} className="numbers">
      {format === "relative" ? formatRelative(ms, current) : formatShort(ms)}
    </time>
  );
}
