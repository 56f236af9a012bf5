import { act, renderHook } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { call } from "./client";
import { keys } from "./keys";
import { answerJson, serve } from "./loopback.testing";
import { createQueryClient } from "./queryClient";
import type { Owner } from "./session";
import { changeOwner, closeSignIn, provideOwner, useOtherOwner, useSignInRequest } from "./session";
import { joinTabs } from "./tabs";

const ADA: Owner = { id: "user_ada", network: "stellar:testnet", address: "GADA", expiresAt: null };
const GRACE: Owner = { ...ADA, id: "user_grace", address: "GGRACE" };
const REFUSED = { error: { code: "unauthenticated", message: "No credential.", requestId: "1" } };

const signInRequest = () => renderHook(() => useSignInRequest()).result.current;
const readAudit = () => call("GET /v1/audit", {}).catch(() => null);

let stop = () => {};
let closeTab = () => {};

/** A cache that knows its owner, as the console makes it. */
function openConsole(owner: Owner | null) {
  const client = createQueryClient();
  stop = provideOwner(client);
  if (owner) changeOwner(client, owner);
  return client;
}

afterEach(() => {
  stop();
  closeTab();
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

/** The other tabs of this browser, and who has the session that they share. */
async function openTab(signedIn: () => Owner | null) {
  await serve((_, response) => {
    const owner = signedIn();
    if (owner === null) answerJson(response, 401, REFUSED);
    else answerJson(response, 200, { user: owner, kind: "session", scopes: [], expiresAt: owner.expiresAt });
  });
  let heard = 0;
  const { tell, close } = joinTabs(() => (heard += 1));
  closeTab = close;
  return { tell, heard: () => heard };
}
const otherOwner = () => renderHook(() => useOtherOwner()).result.current;

test("another account of another tab takes no page away: the page says so and asks", async () => {
  const client = openConsole(ADA);
  let signedIn = GRACE;
  const tab = await openTab(() => signedIn);
  client.setQueryData(keys.payments, ["a payment of Ada"]);
  tab.tell();
  await vi.waitFor(() => expect(otherOwner()?.id).toBe(GRACE.id));
  expect(client.getQueryData(keys.owner)).toEqual(ADA);
  expect(client.getQueryData(keys.payments)).toEqual(["a payment of Ada"]);
  expect(signInRequest()).toBeNull();
  signedIn = ADA;
  tab.tell();
  await vi.waitFor(() => expect(otherOwner()).toBeNull());
  signedIn = GRACE;
  await client.fetchQuery({ queryKey: keys.owner, staleTime: 0 });
  act(() => changeOwner(client, GRACE));
  expect([client.getQueryData<Owner>(keys.owner)?.id, otherOwner()]).toEqual([GRACE.id, null]);
  expect(client.getQueryData(keys.payments)).toBeUndefined();
});

test("a refusal for another account shows which one is signed in, without a word of the other tab", async () => {
  const client = openConsole(ADA);
  const refused = { error: { code: "account_mismatch", message: "Another.", requestId: "1" } };
  await serve((request, response) => {
    if (request.url === "/v1/auth/me") answerJson(response, 200, { user: GRACE, kind: "session", scopes: [] });
    else answerJson(response, 409, refused);
  });
  await call("POST /v1/api-keys", { body: { name: "robot" } }).catch(() => null);
  await vi.waitFor(() => expect(otherOwner()?.id).toBe(GRACE.id));
  expect(client.getQueryData(keys.owner)).toEqual(ADA);
});

test("a sign-out in another tab asks over the page, and a sign-in there closes the dialog", async () => {
  const client = openConsole(ADA);
  let signedIn: Owner | null = null;
  const tab = await openTab(() => signedIn);
  tab.tell();
  await vi.waitFor(() => expect(signInRequest()).toBe("expired"));
  expect(client.getQueryData(keys.owner)).toEqual(ADA);
  signedIn = ADA;
  tab.tell();
  await vi.waitFor(() => expect(signInRequest()).toBeNull());
});

test("a tab without a session takes over that of another tab", async () => {
  const client = openConsole(null);
  changeOwner(client, null);
  const tab = await openTab(() => ADA);
  tab.tell();
  await vi.waitFor(() => expect(client.getQueryData(keys.owner)).toEqual(ADA));
});

test("the other tabs are notified of a sign-in and of a sign-out", async () => {
  const client = openConsole(null);
  const tab = await openTab(() => ADA);
  act(() => changeOwner(client, ADA));
  await vi.waitFor(() => expect(tab.heard()).toBe(1));
  act(() => changeOwner(client, null));
  await vi.waitFor(() => expect(tab.heard()).toBe(2));
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
