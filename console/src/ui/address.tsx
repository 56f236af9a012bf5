import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";

/**
 * The page's address, `/#/developers?tab=vault`: what a page shows is in it, so that a link leads
 * there. All parameters are texts; an empty one is left out.
 */
export type Search = Record<string, string | undefined>;

/** Writes parameters in their order, without those that are empty. */
export function writeSearch(search: Record<string, unknown>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (typeof value === "string" && value !== "") parameters.set(name, value);
  }
  const text = parameters.toString();
  return text === "" ? "" : `?${text}`;
}

export const readSearch = (text: string): Record<string, string> =>
  Object.fromEntries(new URLSearchParams(text));

/** The parameters of the address. */
export function useAddress(): Record<string, string | undefined> {
  return useSearch({ strict: false }) as Record<string, string | undefined>;
}

/** One parameter of the address, such as the selected tab, and its setter. */
export function useAddressParameter(name: string, otherwise = ""): [string, (value: string) => void] {
  const search = useAddress();
  const change = useChangeAddress();
  return [search[name] ?? otherwise, (value) => change({ [name]: value === otherwise ? undefined : value })];
}

/** Returns what changes parameters of the address; the others stay. No entry in the history. */
export function useChangeAddress(): (changes: Search) => void {
  const navigate = useNavigate();
  const search = useAddress();
  return (changes) => {
    const next = { ...search, ...changes };
    void navigate({ to: ".", search: next as never, replace: true, resetScroll: false });
  };
}

/** A segment of the path: `usePathParameter("id")` on `/sell/$id`. */
export function usePathParameter(name: string): string {
  const parameters = useParams({ strict: false }) as Record<string, string | undefined>;
  return parameters[name] ?? "";
}

/** Returns what leads to another page. */
export function useGo(): (path: string, search?: Search) => void {
  const navigate = useNavigate();
  return (path, search = {}) => void navigate({ to: path, search: search as never });
}

const EXACT = { exact: true, includeSearch: false };

interface PageLinkProps {
  /** A path of the console, its segments escaped by `encodeURIComponent`. */
  to: string;
  search?: Search;
  className?: string | undefined;
  children: ReactNode;
  /** Whether it leads to where the page is. */
  isCurrent?: boolean;
  onClick?: () => void;
}

/** A link to another page of the console. */
export function PageLink({ to, search = {}, isCurrent = false, ...rest }: PageLinkProps) {
  return <Link to={to} search={search as never} aria-current={isCurrent ? "page" : undefined} activeOptions={EXACT} {...rest} />;
}
