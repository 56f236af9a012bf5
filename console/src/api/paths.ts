/**
 * Every route that the console can call: `client.ts` takes no other. A test of the service reads
 * this list (tests/spec) and looks each up in /v1/openapi.json.
 */
export const ROUTES = [
  "GET /discovery/resources",
  "GET /discovery/search",
  "GET /health/ready",
  "POST /mcp",
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
  "GET /v1/networks",
  "GET /v1/payments",
  "POST /v1/payments/complete",
  "POST /v1/payments/prepare",
  "GET /v1/skills",
  "GET /v1/skills/{slug}/spec",
  "GET /v1/skills/{slug}/versions",
  "GET /v1/usage",
  "GET /v1/vault/secrets",
  "POST /v1/vault/secrets",
  "DELETE /v1/vault/secrets/{id}",
  "POST /v1/vault/secrets/{id}/rotate",
  "GET /v1/wrappers",
  "GET /v1/wrappers/{id}/analytics",
] as const;

export type Route = (typeof ROUTES)[number];
