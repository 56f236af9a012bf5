import { beforeEach, expect } from "vitest";
import { Purchases } from "@/payment/purchases";
import type { TestService } from "@/payment/service.testing";
import { provideLocks, serveTestService, TERMS, testWallet } from "@/payment/service.testing";
import { resource } from "./pay";
import type { CallArguments } from "./pay";
import type { Delivery } from "./purchase";
import { wordsOf } from "./purchaseWords";

const TOKEN = { code: "USDC", decimals: 7 };
export const CALL: CallArguments = { url: "https://api.example.com/x" };
export const KEY = "stellar:testnet GET https://api.example.com/x";

export type Tab = Purchases<CallArguments, Delivery>;
export const openTab = (): Tab => new Purchases(resource);
export let service: TestService;
export let wallet: ReturnType<typeof testWallet>;

beforeEach(async () => {
  service = await serveTestService();
  localStorage.clear(); // the origin's, which the service has just become
  provideLocks();
  wallet = testWallet();
});

export async function review(tab: Tab, name: string): Promise<void> {
  await tab.ask(name, CALL);
  await tab.pay(name, TERMS, wallet, TOKEN);
  expect(tab.read(name).step).toBe("review");
}

export async function buy(tab: Tab, name: string): Promise<void> {
  await review(tab, name);
  await tab.sign(name, wallet);
}

export const titleOf = (tab: Tab, name: string): string | undefined => wordsOf(tab.read(name))?.title;
export const html = (status: number) => (_: unknown, response: Parameters<TestService["paid"]>[1]) =>
  void response.writeHead(status, { "content-type": "text/html" }).end("<h1>Forbidden</h1>");
