/**
 * Every route that the console can call: `client.ts` takes no other. A test of the service reads
 * this list (tests/spec) and looks each up in /v1/openapi.json.
 */
export const ROUTES = [
  "GET /discovery/resources",
  "GET /discovery/search",
  "GET /health/ready",
  "GET /v1/accounts/{network}/{address}",
  "GET /v1/api-keys",
  "POST /v1/api-keys",
  "DELETE /v1/api-keys/{id}",
  "POST /v1/api-keys/{id}/rotate",
  "GET /v1/audit",
  "POST /v1/auth/challenge",
  "POST /v1/auth/logout",
  "GET /v1/auth/me",
  "POST /v1/auth/verify",
  "GET /v1/errors",
  "GET /v1/networks",
  "GET /v1/payments",
  "GET /v1/payments/{transaction}",
  "POST /v1/payments/{transaction}/refund",
  "GET /v1/usage",
  "GET /v1/vault/secrets",
  "POST /v1/vault/secrets",
  "DELETE /v1/vault/secrets/{id}",
  "POST /v1/vault/secrets/{id}/rotate",
  "GET /v1/wrappers",
  "POST /v1/wrappers",
  "GET /v1/wrappers/slug",
  "DELETE /v1/wrappers/{id}",
  "GET /v1/wrappers/{id}",
  "PATCH /v1/wrappers/{id}",
  "GET /v1/wrappers/{id}/analytics",
  "POST /v1/wrappers/{id}/check",
  "POST /v1/wrappers/{id}/disable",
  "POST /v1/wrappers/{id}/enable",
] as const;

export type Route = (typeof ROUTES)[number];
