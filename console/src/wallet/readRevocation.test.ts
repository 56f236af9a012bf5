import { expect, test } from "vitest";
import { Undecodable } from "./decodeXdr";
import { readRevocation } from "./readRevocation";
import type { ExpectedRevocation } from "./readRevocation";
import vectors from "./readRevocation.vectors.json";

const { issued, refused, endsAt, fee } = vectors;
const expectedOf = (each: (typeof issued)[number] | undefined) => each?.expected as ExpectedRevocation;
const [session, mandate] = issued;

test("the revocation of a session and of a mandate is told in words, from its own bytes", () => {
  for (const each of issued) {
    const read = readRevocation(each.xdr, expectedOf(each));
    expect(read.endsAt).toBe(endsAt);
    expect(read.statements.join("\n")).toContain(each.expected.contract);
    expect(read.statements.join("\n")).toContain(`at most ${fee}`);
  }
  const [first] = readRevocation(session?.xdr ?? "", expectedOf(session)).statements;
  expect(first).toContain(session?.expected.policyId);
});

test.each(refused)("refuses $name", ({ xdr }) => {
  expect(() => readRevocation(xdr, expectedOf(session))).toThrow(Undecodable);
});

test("refuses the revocation of something else than the page shows", () => {
  const own = expectedOf(session);
  for (const other of [
    { mode: "mandate" as const },
    { policyId: "00".repeat(32) },
    { contract: mandate?.expected.contract ?? "" },
  ]) {
    expect(() => readRevocation(session?.xdr ?? "", { ...own, ...other })).toThrow(Undecodable);
  }
  expect(() => readRevocation(mandate?.xdr ?? "", own)).toThrow(Undecodable);
});

test("refuses a transaction that was cut off or changed anywhere before its resources", () => {
  const bytes = atob(session?.xdr ?? "");
  const resources = bytes.length - 32;
  const isFree = (at: number): boolean => (at >= 40 && at < 72) || at >= resources; // fee, number and times
  for (let at = 0; at <= resources; at += 1) {
    expect(() => readRevocation(btoa(bytes.slice(0, at)), expectedOf(session))).toThrow(Undecodable);
    if (isFree(at)) continue;
    const changed = bytes.slice(0, at) + String.fromCharCode(bytes.charCodeAt(at) ^ 1) + bytes.slice(at + 1);
    expect(() => readRevocation(btoa(changed), expectedOf(session)), `byte ${at}`).toThrow(Undecodable);
  }
});
