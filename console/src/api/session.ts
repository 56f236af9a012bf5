import { useQuery } from "@tanstack/react-query";
import type { QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { call, onUnauthenticated } from "./client";
import { ApiError } from "./errors";
import { keys } from "./keys";
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
const listeners = new Set<() => void>();

function setSignInRequest(value: SignInRequest): void {
  signInRequest = value;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Opens the sign-in dialog over the page; the page keeps its state. */
export const openSignIn = (): void => setSignInRequest("asked");
/** Closes the dialog. After an expired session only a change opens it again by itself, and no read. */
export function closeSignIn(): void {
  isDismissed = signInRequest === "expired";
  setSignInRequest(null);
}
export const useSignInRequest = (): SignInRequest =>
  useSyncExternalStore(subscribe, () => signInRequest);

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

/**
 * Teaches the cache to read the owner, and opens the dialog when a request of a signed-in page is
 * refused for want of a session. A session that ended leaves the page as it is. Returns what ends it.
 */
export function provideOwner(client: QueryClient): () => void {
  client.setQueryDefaults(keys.owner, {
    queryFn: async ({ signal }): Promise<Owner | null> =>
      (await readOwner(signal)) ?? client.getQueryData<Owner | null>(keys.owner) ?? null,
    staleTime: 60_000,
  });
  return onUnauthenticated((route) => {
    const isSignedIn = Boolean(client.getQueryData<Owner | null>(keys.owner));
    if (isSignedIn && !(isDismissed && route.startsWith("GET "))) setSignInRequest("expired");
  });
}

/** Whether a query read something that belongs to a wallet. */
const predicate = ({ queryKey: [first] }: { queryKey: readonly unknown[] }): boolean =>
  first !== keys.owner[0] && first !== keys.networks[0];

/** Makes this the owner and closes the dialog; what was read for another one is forgotten, and the same one reads again. */
export function changeOwner(client: QueryClient, owner: Owner | null): void {
  const before = client.getQueryData<Owner | null>(keys.owner);
  client.setQueryData<Owner | null>(keys.owner, owner);
  setSignInRequest(null);
  isDismissed = false;
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
