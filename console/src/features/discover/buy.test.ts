import { describe, expect, test } from "vitest";
import { answerJson } from "@/api/loopback.testing";
import { asRecord } from "@/api/records";
import { openPayment } from "@/payment/flow";
import { listKept } from "@/payment/keptPayments";
import { answerTool, DELIVERED, HASH, OVER, TERMS } from "@/payment/service.testing";
import { buy, CALL, html, KEY, openTab, service, titleOf, wallet } from "./buy.testing";

describe("a purchase", () => {
  test("is paid and delivered, and keeps nothing then", async () => {
    const tab = openTab();
    const name = tab.nameOf(null, KEY);
    service.isShown = true;
    await buy(tab, name);
    expect([titleOf(tab, name), listKept(), service.sent.length, wallet.asked]).toEqual(["Paid and delivered", [], 1, 1]);
  });

  test("is reported as paid where the service does not show the transfer", async () => {
    const tab = openTab();
    const name = tab.nameOf(null, KEY);
    await buy(tab, name);
    expect(titleOf(tab, name)).toBe("Delivered, and reported as paid");
  });

  test("always sends a random payment identifier, and the same bytes again", async () => {
    const tab = openTab();
    const name = tab.nameOf(null, KEY);
    service.unpaid = (request, response) => {
      const extensions = { bazaar: { info: 1 }, "payment-identifier": { info: { required: true, id: "the_sellers_own_id" }, schema: {} } };
      answerTool(request, response, { x402Version: 2, accepts: [TERMS], extensions, nextAction: "SIGN_PAYMENT_AND_RETRY" });
    };
    service.paid = html(502);
    await buy(tab, name);
    for (let count = 0; count < 3; count += 1) await tab.proceed(name, true);
    expect(service.sent.length).toBe(4);
    expect(new Set(service.sent).size).toBe(1);
    const extensions = asRecord(service.completions[0]?.["extensions"]);
    expect(extensions["bazaar"]).toEqual({ info: 1 });
    const { info, schema } = asRecord(extensions["payment-identifier"]);
    expect(schema).toEqual({});
    expect(info).toEqual({ required: true, id: expect.stringMatching(/^pay_[0-9a-f]{32}$/) as string });
  });

  test.each([403, 404, 413, 400, 401, 429, 500])("stays open and kept when a proxy answers %i in place of the service", async (status) => {
    const tab = openTab();
    const name = tab.nameOf(null, KEY);
    service.paid = html(status);
    await buy(tab, name);
    expect([titleOf(tab, name), listKept().length]).toEqual(["The payment is pending", 1]);
    await tab.ask(name, CALL);
    expect(tab.read(name).step).toBe("waiting");
  });

  test("ends with a refusal of the service's own that passed nothing on", async () => {
    const tab = openTab();
    const name = tab.nameOf(null, KEY);
    service.paid = (_, response) => {
      const data = { reason: "body_too_large", requestId: "r" };
      answerJson(response, 413, { jsonrpc: "2.0", id: null, error: { code: -32000, message: "Too large.", data } });
    };
    await buy(tab, name);
    expect([titleOf(tab, name), listKept()]).toEqual(["Nothing was paid", []]);
  });

  test("is not ended by such a refusal while an earlier sending is unaccounted for", async () => {
    const tab = openTab();
    const name = tab.nameOf(null, KEY);
    service.paid = html(504);
    await buy(tab, name);
    service.paid = (request, response) => {
      const error = { code: -32002, message: "Not listed.", data: { reason: "RESOURCE_NOT_CATALOGED" } };
      answerJson(response, 200, { jsonrpc: "2.0", id: request["id"], error });
    };
    await tab.proceed(name, true);
    service.ledger = OVER;
    await tab.proceed(name, true);
    expect([titleOf(tab, name), listKept().length]).toEqual(["The payment is pending", 1]);
  });

  test("is ended by the service's word only when no earlier sending can land any more", async () => {
    const tab = openTab();
    const name = tab.nameOf(null, KEY);
    service.paid = html(504);
    await buy(tab, name);
    service.paid = (request, response) =>
      answerTool(request, response, { status: 409, isPaid: false, outcome: "not_sent", nextAction: "SIGN_PAYMENT_AND_RETRY" });
    await tab.proceed(name, true);
    expect(titleOf(tab, name)).toBe("The payment is pending");
    service.ledger = OVER;
    await tab.proceed(name, true);
    expect([titleOf(tab, name), listKept()]).toEqual(["Nothing was paid", []]);
  });

  test("is forgotten only when its last ledger has passed", async () => {
    const tab = openTab();
    const name = tab.nameOf(null, KEY);
    service.paid = html(404);
    await buy(tab, name);
    tab.forget(name);
    expect([tab.read(name).step, listKept().length]).toEqual(["waiting", 1]);
    service.ledger = OVER;
    await tab.proceed(name, true);
    tab.forget(name);
    expect([tab.read(name).step, listKept()]).toEqual(["form", []]);
  });

  test("shows the transaction and that it is paid when the service does, and is delivered later", async () => {
    const tab = openTab();
    const name = tab.nameOf(null, KEY);
    service.isShown = true;
    service.paid = (request, response) => {
      const receipt = { paymentResponse: { success: true, transaction: HASH }, isPaid: true, retryAfterSeconds: 1 };
      answerTool(request, response, { status: 502, ...receipt, outcome: "settled_not_delivered", nextAction: "WAIT_AND_RETRY_WITH_THE_SAME_PAYMENT" });
    };
    await buy(tab, name);
    expect(titleOf(tab, name)).toBe("Paid, and not delivered yet");
    service.ledger = OVER;
    service.paid = html(503);
    await tab.proceed(name, true);
    expect([titleOf(tab, name), openPayment(tab.read(name))?.transaction]).toEqual(["Paid, and not delivered yet", HASH]);
    service.paid = (request, response) => answerTool(request, response, DELIVERED);
    await tab.proceed(name, true);
    expect(titleOf(tab, name)).toBe("Paid and delivered");
  });
});

describe("a tab that is closed after the signature", () => {
  test("leaves the payment where the next visit finds it, and its bytes", async () => {
    const first = openTab();
    const name = first.nameOf(null, KEY);
    service.paid = html(504);
    await buy(first, name);
    const second = openTab();
    expect(second.read(name)).toMatchObject({ step: "waiting", payment: { attempts: 1, unaccounted: 1 } });
    service.isShown = true;
    service.paid = (request, response) => answerTool(request, response, DELIVERED);
    await second.proceed(name, true);
    expect([titleOf(second, name), new Set(service.sent).size, wallet.asked]).toEqual(["Paid and delivered", 1, 1]);
  });

  test("leaves it also when the service had not put the signature in", async () => {
    const first = openTab();
    const name = first.nameOf(null, KEY);
    service.complete = html(502);
    await buy(first, name);
    expect([titleOf(first, name), service.sent]).toEqual(["Signed, and not sent yet", []]);
    service.complete = null;
    const second = openTab();
    await second.proceed(name, true);
    expect([service.sent.length, wallet.asked, service.completions.length]).toEqual([1, 1, 2]);
    expect(service.completions[0]).toEqual(service.completions[1]);
  });

  test("keeps nothing of a payment that the service refuses to complete", async () => {
    const tab = openTab();
    const name = tab.nameOf(null, KEY);
    service.complete = (_, response) =>
      answerJson(response, 400, { error: { code: "invalid_signature", message: "Bad signature.", requestId: "r" } });
    await buy(tab, name);
    expect([titleOf(tab, name), service.sent, listKept()]).toEqual(["Nothing was paid", [], []]);
  });
});
