import { QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test } from "vitest";
import { call } from "@/api/client";
import { answerJson, serve } from "@/api/loopback.testing";
import { createQueryClient } from "@/api/queryClient";
import type { Owner } from "@/api/session";
import { changeOwner, closeSignIn, provideOwner, useOwner } from "@/api/session";
import { joinTabs } from "@/api/tabs";
import type { Tabs } from "@/api/tabs";
import { Field } from "@/ui/Field";
import { useForm } from "@/ui/form";
import { FormFrame } from "@/ui/FormFrame";
import { NeedsOwner } from "./NeedsOwner";
import { OtherAccount } from "./OtherAccount";
import { SignInDialog } from "./SignInDialog";

const ADA: Owner = { id: "user_ada", network: "stellar:testnet", address: `GADA${"A".repeat(52)}`, expiresAt: null };
const GRACE: Owner = { ...ADA, id: "user_grace", address: `GRACE${"B".repeat(51)}` };
const refusal = (code: string) => ({ error: { code, message: "No.", requestId: "1" } });

let signedIn: Owner | null;
let names: string[];
let stop = () => {};
let tab: Tabs;

function SecretForm() {
  const form = useForm({
    initial: { value: "" },
    submit: ({ value }) => call("POST /v1/api-keys", { body: { name: value } }),
  });
  return (
    <FormFrame form={form} name="A secret">
      <Field label="Value" {...form.field("value")} />
    </FormFrame>
  );
}

/** The frame of the shell: another account gets another page. */
function Frame() {
  const owner = useOwner();
  return (
    <>
      <OtherAccount />
      <div key={owner?.id ?? "nobody"}>
        <NeedsOwner title="Secrets">
          <SecretForm />
        </NeedsOwner>
      </div>
      <SignInDialog />
    </>
  );
}

const typed = () => screen.queryByLabelText<HTMLInputElement>("Value")?.value;
const send = () => act(async () => fireEvent.submit(screen.getByRole("form", { hidden: true })));

async function openForm() {
  const client = createQueryClient();
  stop = provideOwner(client);
  changeOwner(client, ADA);
  render(
    <QueryClientProvider client={client}>
      <Frame />
    </QueryClientProvider>,
  );
  fireEvent.change(await screen.findByLabelText("Value"), { target: { value: "a credential" } });
  return client;
}

beforeEach(async () => {
  [signedIn, names] = [ADA, []];
  tab = joinTabs(() => {});
  await serve((request, response) => {
    if (request.url === "/v1/auth/me" && signedIn) answerJson(response, 200, { user: signedIn, kind: "session", scopes: [] });
    else if (request.url === "/v1/networks") answerJson(response, 200, { networks: [] });
    else if (signedIn === null) answerJson(response, 401, refusal("unauthenticated"));
    else if (signedIn.id !== ADA.id) answerJson(response, 409, refusal("account_mismatch"));
    else if (names.push("made")) answerJson(response, 201, {});
  });
});
afterEach(() => {
  stop();
  tab.close();
  cleanup();
  closeSignIn();
});

test("a session that ends while a form is sent asks over it, and the form goes on", async () => {
  const client = await openForm();
  signedIn = null;
  await send();
  await screen.findByText("Your session has ended");
  expect(typed()).toBe("a credential");
  signedIn = ADA;
  act(() => changeOwner(client, ADA));
  await waitFor(() => expect(screen.queryByText("Your session has ended")).toBeNull());
  expect(typed()).toBe("a credential");
  await send();
  await waitFor(() => expect(names).toEqual(["made"]));
});

test("a sign-out in another tab asks over the form", async () => {
  await openForm();
  signedIn = null;
  tab.tell();
  await screen.findByText("Your session has ended");
  expect(typed()).toBe("a credential");
  expect(JSON.stringify([{ ...localStorage }, { ...sessionStorage }])).not.toContain("a credential");
});

test("another account of another tab leaves the form, which is sent by its own account alone", async () => {
  await openForm();
  signedIn = GRACE;
  tab.tell();
  fireEvent.click(await screen.findByRole("button", { name: /^Sign in again as/ }));
  await screen.findByText("Sign in again");
  act(closeSignIn);
  await send();
  await screen.findByText("Sign in again"); // over the form, by itself
  expect([typed(), names]).toEqual(["a credential", []]);
});

test("the person gives the form up for the other account, and it is not sent by that one", async () => {
  await openForm();
  signedIn = GRACE;
  tab.tell();
  fireEvent.click(await screen.findByRole("button", { name: /^Show .* here$/ }));
  await waitFor(() => expect(typed()).toBe(""));
  expect(names).toEqual([]);
});
