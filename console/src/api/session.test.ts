import { act, renderHook } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import { call } from "./client";
import { keys } from "./keys";
import { answerJson, serve } from "./loopback.testing";
import { createQueryClient } from "./queryClient";
import type { Owner } from "./session";
import { changeOwner, closeSignIn, provideOwner, useSignInRequest } from "./session";

const ADA: Owner = { id: "user_ada", network: "stellar:testnet", address: "GADA", expiresAt: null };
const GRACE: Owner = { ...ADA, id: "user_grace", address: "GGRACE" };
const REFUSED = { error: { code: "unauthenticated", message: "No credential.", requestId: "1" } };

const signInRequest = () => renderHook(() => useSignInRequest()).result.current;
const readAudit = () => call("GET /v1/audit", {}).catch(() => null);

let stop = () => {};

/** A cache that knows its owner, as the console makes it. */
function openConsole(owner: Owner | null) {
  const client = createQueryClient();
  stop = provideOwner(client);
  if (owner) changeOwner(client, owner);
  return client;
}

afterEach(() => {
  stop();
  closeSignIn();
  changeOwner(createQueryClient(), null);
});

test("a 401 of a signed-in page asks to sign in again and keeps the owner", async () => {
  const client = openConsole(ADA);
  await serve((_, response) => answerJson(response, 401, REFUSED));
  await readAudit();
  expect(signInRequest()).toBe("expired");
  await client.fetchQuery({ queryKey: keys.owner, staleTime: 0 });
  expect(client.getQueryData(keys.owner)).toEqual(ADA);
});

test("a 401 of a page without a session asks for nothing", async () => {
  const client = openConsole(null);
  await serve((_, response) => answerJson(response, 401, REFUSED));
  expect(await client.fetchQuery({ queryKey: keys.owner })).toBeNull();
  await readAudit();
  expect(signInRequest()).toBeNull();
});

test("a dialog that was closed comes back for a change and not for a read", async () => {
  openConsole(ADA);
  await serve((_, response) => answerJson(response, 401, REFUSED));
  await readAudit();
  act(closeSignIn);
  await readAudit();
  expect(signInRequest()).toBeNull();
  await call("DELETE /v1/api-keys/{id}", { path: { id: "key_1" } }).catch(() => null);
  expect(signInRequest()).toBe("expired");
});

test("after signing in again, a read asks when that session ends", async () => {
  const client = openConsole(ADA);
  await serve((_, response) => answerJson(response, 401, REFUSED));
  await readAudit();
  act(() => changeOwner(client, ADA));
  expect(signInRequest()).toBeNull();
  await readAudit();
  expect(signInRequest()).toBe("expired");
});

test("an outage is not taken for the end of a session", async () => {
  openConsole(ADA);
  await serve((_, response) => answerJson(response, 503, REFUSED));
  await readAudit();
  expect(signInRequest()).toBeNull();
});

test("another wallet sees nothing of the one before it", () => {
  const client = createQueryClient();
  changeOwner(client, ADA);
  client.setQueryData([...keys.payments, "all"], ["a payment of Ada"]);
  client.setQueryData(keys.networks, { networks: [] });
  changeOwner(client, GRACE);
  expect(client.getQueryData([...keys.payments, "all"])).toBeUndefined();
  expect(client.getQueryData(keys.networks)).toEqual({ networks: [] });
  changeOwner(client, null);
  expect(client.getQueryData(keys.owner)).toBeNull();
});

test("the same wallet reads its pages again and keeps what they show", () => {
  const client = createQueryClient();
  changeOwner(client, ADA);
  client.setQueryData(keys.payments, ["shown"]);
  changeOwner(client, { ...ADA, expiresAt: "2026-11-26T00:00:00Z" });
  expect(client.getQueryData(keys.payments)).toEqual(["shown"]);
  expect(client.getQueryState(keys.payments)?.isInvalidated).toBe(true);
});
