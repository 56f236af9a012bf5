import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";

/** early/early.js reads the same name before the first paint. */
const STORED = "farebox.theme";
const listeners = new Set<() => void>();

function readTheme(): Theme {
  const value = document.documentElement.dataset["theme"];
  return value === "light" || value === "dark" ? value : "system";
}

export function setTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
  try {
    localStorage.setItem(STORED, theme);
  } catch {
    // storage is switched off: the choice lasts as long as the page
  }
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useTheme = (): Theme => useSyncExternalStore(subscribe, readTheme);
