import type { Schema } from "@/api/types";

export type AuditEvent = Schema<"AuditEventBody">;

/** The actions of a wallet's audit log, in words. */
export const ACTIONS: Record<string, string> = {
  "session.created": "Signed in",
  "session.revoked": "Signed out",
  "key.created": "API key created",
  "key.rotated": "API key rotated",
  "key.revoked": "API key revoked",
  "secret.created": "Secret stored",
  "secret.rotated": "Secret rotated",
  "secret.deleted": "Secret deleted",
  "wrapper.created": "Wrapper created",
  "wrapper.updated": "Wrapper changed",
  "wrapper.enabled": "Wrapper enabled",
  "wrapper.disabled": "Wrapper disabled",
  "wrapper.deleted": "Wrapper deleted",
  "payment.refunded": "Payment paid back",
  "listing.taken_over": "Listing moved to another recipient",
};

const ACTORS: Record<string, string> = {
  session: "This wallet, signed in",
  key: "An API key",
  service: "The service",
  operator: "The operator",
};

export const nameAction = (action: string): string => ACTIONS[action] ?? action;
export const nameActor = (actor: string): string => ACTORS[actor] ?? actor;
