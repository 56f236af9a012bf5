import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { EXAMPLE_REQUESTS, LANGUAGES, writeExample } from "./exampleRequests";
import type { Key } from "./keyState";
import { stateOfKey } from "./keyState";
import { usageSeries } from "./usageSeries";

const NOW = Date.parse("2026-11-25T12:00:00Z");
const at = (seconds: number) => new Date(NOW + seconds * 1000).toISOString();
const key = (changes: Partial<Key>): Key => ({
  id: "key_1",
  name: "ci",
  prefix: "fbx_live_abcd",
  scopes: ["read"],
  createdAt: at(-100),
  updatedAt: at(-100),
  expiresAt: null,
  revokedAt: null,
  lastUsedAt: null,
  replacedBy: null,
  ...changes,
});

describe("stateOfKey", () => {
  test.each([
    ["a new key", {}, "Works", true],
    ["an expired key", { expiresAt: at(-1) }, "Expired", false],
    ["a revoked key", { revokedAt: at(-1) }, "Revoked", false],
    ["a rotated key", { revokedAt: at(-1), replacedBy: "key_2" }, "Rotated", false],
    ["a rotated key within its overlap", { revokedAt: at(60), replacedBy: "key_2" }, "Ends soon", true],
    ["a key revoked by a clock ahead of this one", { revokedAt: at(60), updatedAt: at(60) }, "Revoked", false],
  ])("%s", (_, changes, label, isWorking) => {
    expect(stateOfKey(key(changes), NOW)).toMatchObject({ label, isWorking });
  });
});

const day = (date: string, network: string, accepted: number) => ({
  date,
  network,
  verifications: { accepted: 2, refused: 1 },
  settlements: { accepted, failed: 0, pending: 0, refused: 3 },
  feesSponsored: "1",
});

describe("usageSeries", () => {
  test("days without usage are zero, and other networks are left out", () => {
    const items = [day("2026-11-03", "stellar:testnet", 5), day("2026-11-02", "stellar:pubnet", 9)];
    const { times, series } = usageSeries(items, "stellar:testnet", "2026-11-01", "2026-11-03");
    expect(times).toHaveLength(3);
    expect(series.map(({ label, values }) => [label, values])).toEqual([
      ["Settled", [0, 0, 5]],
      ["Verified", [0, 0, 2]],
      ["Refused", [0, 0, 4]],
    ]);
  });
});

const NODE_CHECK = ["--input-type=module", "--check"];
const readBy = (program: string, options: string[], code: string) =>
  execFileSync(program, options, { input: code, stdio: ["pipe", "pipe", "ignore"] });

describe("examples", () => {
  const ORIGIN = "https://pay.example.com";
  const all = EXAMPLE_REQUESTS.flatMap((request) => LANGUAGES.map(({ id }) => [request, id] as const));

  test.each(all)("%o in %s names the URL and holds no key", (request, language) => {
    const code = writeExample(request, language, ORIGIN);
    expect(code).toContain(ORIGIN + request.path);
    expect(code).not.toMatch(/fbx_(live|sess)_/);
    expect(code.includes("FAREBOX_KEY")).toBe(request.scope !== null);
  });

  test.each(EXAMPLE_REQUESTS)("the shell and JavaScript can read $title", (request) => {
    expect(() => readBy("sh", ["-n"], writeExample(request, "curl", ORIGIN))).not.toThrow();
    expect(() => readBy(process.execPath, NODE_CHECK, writeExample(request, "typescript", ORIGIN))).not.toThrow();
  });

  test("the shell and JavaScript refuse what is broken", () => {
    expect(() => readBy("sh", ["-n"], "echo 'open")).toThrow(/failed/i);
    expect(() => readBy(process.execPath, NODE_CHECK, "const = {")).toThrow(/failed/i);
  });

  test("curl quotes a text that the shell would read", () => {
    const request = { id: "x", title: "x", method: "POST" as const, path: "/v1/x", body: { name: "it's $HOME" }, scope: null };
    const shown = execFileSync("sh", ["-c", writeExample(request, "curl", ORIGIN).replace("curl", "printf '%s\\n'")]);
    expect(shown.toString()).toContain(`{"name":"it's $HOME"}`);
  });
});
