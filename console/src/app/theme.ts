import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";

/** early/early.js reads the same name, and sets the same attribute before the first paint. */
const STORED = "farebox.theme";
const listeners = new Set<() => void>();
const system = window.matchMedia("(prefers-color-scheme: dark)");
let chosen = readStored();

function readStored(): Theme {
  try {
    const value = localStorage.getItem(STORED);
    return value === "light" || value === "dark" ? value : "system";
  } catch {
    return "system"; // storage is switched off
  }
}

function apply(): void {
  const isDark = chosen === "dark" || (chosen === "system" && system.matches);
  document.documentElement.dataset["theme"] = isDark ? "dark" : "light";
}

system.addEventListener("change", apply);

export function setTheme(theme: Theme): void {
  chosen = theme;
  apply();
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

export const useTheme = (): Theme => useSyncExternalStore(subscribe, () => chosen);
