import { useQueryClient } from "@tanstack/react-query";
import { call } from "./client";
import { ApiError } from "./errors";
import { changeOwner } from "./session";

/** Returns what ends the session, or all of the wallet's, and forgets everything that was read with it. */
export function useSignOut(): (everywhere: boolean) => Promise<void> {
  const client = useQueryClient();
  return async (everywhere) => {
    try {
      await call("POST /v1/auth/logout", { body: { everywhere } });
    } catch (error) {
      // An expired session is signed out already.
      if (!(error instanceof ApiError && error.status === 401)) throw error;
    }
    changeOwner(client, null);
  };
}
