import { describe, expect, test } from "vitest";
import type { Owner } from "@/api/session";
import { listKept, MAX_KEPT } from "@/payment/keptPayments";
import { answerTool, DELIVERED, PAYER, tellTabs } from "@/payment/service.testing";
import { buy, html, KEY, openTab, review, service, wallet } from "./buy.testing";

const OWNER: Owner = { id: "usr_1", network: "stellar:testnet", address: PAYER, expiresAt: null };
const OTHER: Owner = { id: "usr_2", network: "stellar:testnet", address: "GOTHER", expiresAt: null };

describe("accounts", () => {
  test("one account's payment is shown to no other and to nobody, and to it again", async () => {
    const tab = openTab();
    service.paid = html(504);
    await buy(tab, tab.nameOf(OWNER, KEY));
    expect([tab.open(OTHER), tab.open(null), tab.open(OWNER).length]).toEqual([[], [], 1]);
    expect([tab.read(tab.nameOf(OTHER, KEY)).step, tab.read(tab.nameOf(null, KEY)).step]).toEqual(["form", "form"]);
    expect(openTab().read(tab.nameOf(OWNER, KEY)).step).toBe("waiting");
  });

  test("the same payer signs no second payment for it under another sign-in", async () => {
    const tab = openTab();
    service.paid = html(504);
    await buy(tab, tab.nameOf(OWNER, KEY));
    const name = tab.nameOf(null, KEY);
    await review(tab, name);
    await tab.sign(name, wallet);
    expect(tab.read(name)).toMatchObject({ step: "review", problem: { kind: "unfinished_payment" } });
    expect(wallet.asked).toBe(1);
  });

  test("what an account paid before it signed in becomes its own", async () => {
    const tab = openTab();
    service.paid = html(504);
    await buy(tab, tab.nameOf(null, KEY));
    tab.adopt(OTHER);
    expect(tab.open(OTHER)).toEqual([]);
    tab.adopt(OWNER);
    expect([tab.open(null), tab.open(OWNER).length]).toEqual([[], 1]);
    expect(tab.read(tab.nameOf(OWNER, KEY)).step).toBe("waiting");
  });
});

describe("two tabs", () => {
  test("that sign at the same time ask the wallet once", async () => {
    const [one, two] = [openTab(), openTab()];
    const name = one.nameOf(null, KEY);
    service.paid = html(504);
    await Promise.all([review(one, name), review(two, name)]);
    const gate = new EventTarget();
    wallet.gate = new Promise((resolve) => gate.addEventListener("open", () => resolve()));
    const signing = one.sign(name, wallet);
    await two.sign(name, wallet);
    expect(two.read(name)).toMatchObject({ step: "review", problem: { kind: "unfinished_payment" } });
    gate.dispatchEvent(new Event("open"));
    await signing;
    await two.sign(name, wallet);
    expect([wallet.asked, service.sent.length, two.read(name).step]).toEqual([1, 1, "waiting"]);
  });

  test("follow each other: one goes on with the payment of the other, and learns that it has ended", async () => {
    const [one, two] = [openTab(), openTab()];
    const name = one.nameOf(null, KEY);
    service.paid = html(504);
    await review(two, name);
    await buy(one, name);
    tellTabs(name);
    expect(two.read(name).step).toBe("waiting");
    service.paid = (request, response) => answerTool(request, response, DELIVERED);
    await one.proceed(name, true);
    tellTabs(name);
    expect(one.read(name).step).toBe("ended");
    expect(two.read(name)).toMatchObject({ step: "form", problem: { kind: "ended_elsewhere" } });
    expect([wallet.asked, new Set(service.sent).size]).toEqual([1, 1]);
  });

  test("keep what an ended one has brought when another one begins", async () => {
    const [one, two] = [openTab(), openTab()];
    const name = one.nameOf(null, KEY);
    await buy(one, name);
    service.paid = html(504);
    await buy(two, name);
    tellTabs(name);
    expect(one.read(name)).toMatchObject({ step: "ended", outcome: { answer: { body: "sunny" } } });
    one.back(name);
    expect(one.read(name).step).toBe("waiting");
  });

  test("send a payment again one at a time, and none that has ended meanwhile", async () => {
    const [one, two] = [openTab(), openTab()];
    const name = one.nameOf(null, KEY);
    service.paid = html(504);
    await buy(one, name);
    two.read(name);
    await Promise.all([one.proceed(name, false), two.proceed(name, false)]);
    expect(service.sent.length).toBe(2);
    service.paid = (request, response) => answerTool(request, response, DELIVERED);
    await one.proceed(name, true);
    await two.proceed(name, true);
    expect([service.sent.length, two.read(name).step]).toEqual([3, "form"]);
  });
});

describe("a browser that cannot keep a payment", () => {
  test("signs none without locks", async () => {
    const tab = openTab();
    const name = tab.nameOf(null, KEY);
    await review(tab, name);
    Object.defineProperty(navigator, "locks", { value: undefined, configurable: true });
    await tab.sign(name, wallet);
    expect([tab.read(name), wallet.asked]).toMatchObject([{ step: "review", problem: { kind: "not_kept" } }, 0]);
  });

  test("signs none beyond the bound, and drops none", async () => {
    const tab = openTab();
    service.paid = html(504);
    const name = tab.nameOf(null, KEY);
    await buy(tab, name);
    const text = localStorage.getItem(name) ?? "";
    for (let count = 1; count < MAX_KEPT; count += 1) localStorage.setItem(tab.nameOf(null, `${KEY}${count}`), text);
    const next = tab.nameOf(null, `${KEY}next`);
    await review(tab, next);
    await tab.sign(next, wallet);
    expect([tab.read(next), wallet.asked]).toMatchObject([{ step: "review", problem: { kind: "not_kept" } }, 1]);
    expect(listKept().length).toBe(MAX_KEPT);
  });
});
