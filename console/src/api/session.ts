import { useQuery } from "@tanstack/react-query";
import type { QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { call, onSessionRefused } from "./client";
import { ApiError } from "./errors";
import { keys } from "./keys";
import { joinTabs } from "./tabs";
import type { Tabs } from "./tabs";
import type { Network } from "./types";

/** The wallet that is signed in. */
export interface Owner {
  id: string;
  network: Network;
  address: string;
  /** When the session ends, ISO 8601. */
  expiresAt: string | null;
}

/** Whether the sign-in dialog is open, and why: the person asked, or the session expired. */
export type SignInRequest = "asked" | "expired" | null;
let signInRequest: SignInRequest = null;
let isDismissed = false;
let otherOwner: Owner | null = null;
let tabs: Tabs | null = null;
const listeners = new Set<() => void>();

function notify(): void {
  for (const listener of listeners) listener();
}

function setSignInRequest(value: SignInRequest): void {
  signInRequest = value;
  notify();
}

function setOtherOwner(value: Owner | null): void {
  if (otherOwner?.id === value?.id) return;
  otherOwner = value;
  notify();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Opens the sign-in dialog over the page; the page keeps its state. */
export const openSignIn = (): void => setSignInRequest("asked");
/** Opens the dialog for the account whose page is open: it stays, with what was typed. */
export const openRenewal = (): void => setSignInRequest("expired");
/** Closes the dialog. After an expired session only a change opens it again by itself, and no read. */
export function closeSignIn(): void {
  isDismissed = signInRequest === "expired";
  setSignInRequest(null);
}
export const useSignInRequest = (): SignInRequest =>
  useSyncExternalStore(subscribe, () => signInRequest);

/** The account that the browser's session is of, where this page shows another one; else null. */
export const useOtherOwner = (): Owner | null => useSyncExternalStore(subscribe, () => otherOwner);

async function readOwner(signal: AbortSignal): Promise<Owner | null> {
  try {
    const { user, expiresAt } = await call("GET /v1/auth/me", {}, { signal });
    if (user.network === undefined || user.address === undefined) return null;
    const { id, network, address } = user;
    return { id, network, address, expiresAt: expiresAt ?? null };
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null;
    throw error;
  }
}

/** Whether a query read something that belongs to a wallet. */
const predicate = ({ queryKey: [first] }: { queryKey: readonly unknown[] }): boolean =>
  first !== keys.owner[0] && first !== keys.networks[0];

/**
 * The owner of the page, from what the service says now. Neither an ended session nor another account that
 * has signed in elsewhere in this browser takes the page away: the person decides, and a typed form stays.
 */
function ownerOfPage(client: QueryClient, found: Owner | null): Owner | null {
  const shown = client.getQueryData<Owner | null>(keys.owner);
  const isOther = Boolean(found && shown && found.id !== shown.id);
  setOtherOwner(isOther ? found : null);
  if (isOther || found === null) return shown ?? null;
  if (shown?.id === found.id && signInRequest === "expired") {
    setSignInRequest(null); // another tab has signed in again
    void client.invalidateQueries({ predicate });
  }
  if (shown === null) client.removeQueries({ predicate });
  return found;
}

/**
 * Teaches the cache to read the owner, and opens the dialog when a request of a signed-in page is
 * refused for want of a session. A session that ended leaves the page as it is. The owner is read again
 * when another tab has signed in or out, or a request was refused for it. Returns what ends it.
 */
export function provideOwner(client: QueryClient): () => void {
  client.setQueryDefaults(keys.owner, {
    queryFn: async ({ signal }): Promise<Owner | null> => ownerOfPage(client, await readOwner(signal)),
    staleTime: 60_000,
  });
  const readAgain = async () => {
    await client.cancelQueries({ queryKey: keys.owner }); // what was asked before may be answered as it was
    // A read that fails says nothing: the next request is refused, and asks again.
    await client.fetchQuery({ queryKey: keys.owner, staleTime: 0 }).catch(() => {});
  };
  const joined = joinTabs(() => void readAgain());
  tabs = joined;
  const stop = onSessionRefused((refusal, route) => {
    const isRead = route.startsWith("GET ");
    if (refusal === "account_mismatch") {
      void readAgain().then(() => {
        if (otherOwner !== null && !isRead) setSignInRequest("expired"); // over the form, which may be a dialog
      });
      return;
    }
    const isSignedIn = Boolean(client.getQueryData<Owner | null>(keys.owner));
    if (isSignedIn && !(isDismissed && isRead)) setSignInRequest("expired");
  });
  return () => {
    stop();
    joined.close();
    if (tabs === joined) tabs = null;
  };
}

/**
 * Makes this the owner and closes the dialog; what was read for another one is forgotten, and the same one
 * reads again. The other tabs are told: they keep what they show and ask.
 */
export function changeOwner(client: QueryClient, owner: Owner | null): void {
  const before = client.getQueryData<Owner | null>(keys.owner);
  void client.cancelQueries({ queryKey: keys.owner }); // it was asked before the change
  client.setQueryData<Owner | null>(keys.owner, owner);
  setSignInRequest(null);
  setOtherOwner(null);
  isDismissed = false;
  tabs?.tell();
  if (before?.id === owner?.id) void client.invalidateQueries({ predicate });
  else client.removeQueries({ predicate });
}

/** The query of the signed-in wallet; its data is null when nobody is signed in. */
export function useOwnerQuery() {
  return useQuery<Owner | null>({ queryKey: keys.owner });
}

/** The signed-in wallet, or null. Pages behind `needsOwner` always have one. */
export function useOwner(): Owner | null {
  return useOwnerQuery().data ?? null;
}
