export type Tone = "neutral" | "good" | "bad";

export interface Toast {
  id: number;
  text: string;
  tone: Tone;
}

const SECONDS = 5;
let toasts: readonly Toast[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

function set(value: readonly Toast[]): void {
  toasts = value;
  for (const listener of listeners) listener();
}

export const dismiss = (id: number): void => set(toasts.filter((each) => each.id !== id));

/** Shows a short sentence at the edge and has screen readers say it. For good news; what a person must act on stays on the page. */
export function announce(text: string, tone: Tone = "neutral"): void {
  const id = nextId++;
  set([...toasts.slice(-2), { id, text, tone }]);
  setTimeout(() => dismiss(id), SECONDS * 1000);
}

export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const readToasts = (): readonly Toast[] => toasts;
