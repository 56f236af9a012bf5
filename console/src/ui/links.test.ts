import { expect, test } from "vitest";
import { explorerUrl, readHttpsUrl, shorten } from "./links";

test.each([
  "javascript:alert(1)",
  "JaVaScRiPt:alert(1)",
  "data:text/html,x",
  "http://example.com",
  "//example.com",
  "https://user:word@example.com",
  "https://",
  "example.com",
  "",
])("%j is no link", (text) => expect(readHttpsUrl(text)).toBeNull());

test("an https URL is a link", () => {
  expect(readHttpsUrl("https://api.example.com/a?b=c")?.host).toBe("api.example.com");
});

test("the explorer has pages of transactions, accounts and contracts of the public networks only", () => {
  const hash = "ab".repeat(32);
  expect(explorerUrl("stellar:testnet", hash)).toBe(`https://stellar.expert/explorer/testnet/tx/${hash}`);
  expect(explorerUrl("stellar:pubnet", `G${"A".repeat(55)}`)).toContain("/explorer/public/account/G");
  expect(explorerUrl("stellar:pubnet", `C${"A".repeat(55)}`)).toContain("/explorer/public/contract/C");
  expect(explorerUrl("stellar:pubnet", "../../x")).toBeNull();
  expect(explorerUrl("stellar:other", hash)).toBeNull();
});

test("shorten keeps both ends of a long text and all of a short one", () => {
  expect(shorten("GABCDEFGHIJKLMNOP", 4)).toBe("GABC…MNOP");
  expect(shorten("key_1", 4)).toBe("key_1");
});
