import { asRecord, asTexts } from "@/api/records";
import type { JsonObject } from "@/api/records";

/** The parts of a skill's spec that its page shows (docs/skills.md, "How to read a spec"). */
export interface SkillSpec {
  name: string;
  description: string;
  version: string;
  category: string;
  tags: string[];
  examples: string[];
  authMode: string[];
  networks: string[];
  safety: JsonObject;
  actions: SkillAction[];
  limits: string[];
}

export interface SkillAction {
  name: string;
  title: string;
  kind: string;
  summary: string;
  authMode: string[];
  procedure: string[];
  idempotency: string;
  /** "POST /mcp", and the tool where it is one. */
  endpoint: string;
  tool: string | null;
  input: unknown;
  output: unknown;
  errors: SkillError[];
}

export interface SkillError {
  code: string;
  http: string;
  isRetryable: boolean;
  cause: string;
  remedy: string;
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const list = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.map(asRecord) : []);

function readAction(action: JsonObject, endpoints: readonly JsonObject[]): SkillAction {
  const endpoint = endpoints.find((each) => each["ref"] === action["endpoint"]) ?? {};
  return {
    name: text(action["name"]),
    title: text(action["title"]),
    kind: text(action["kind"]),
    summary: text(action["summary"]),
    authMode: asTexts(action["authMode"]),
    procedure: asTexts(action["procedure"]),
    idempotency: text(action["idempotency"]),
    endpoint: `${text(endpoint["method"])} ${text(endpoint["path"])}`.trim(),
    tool: text(endpoint["tool"]) || null,
    input: action["input"],
    output: action["output"],
    errors: list(action["errors"]).map((error) => ({
      code: text(error["code"]),
      http: String(error["http"] ?? ""),
      isRetryable: error["retryable"] === true,
      cause: text(error["cause"]),
      remedy: text(error["remedy"]),
    })),
  };
}

/** Reads a spec; a member that is missing or of another type is empty. */
export function readSpec(value: unknown): SkillSpec {
  const spec = asRecord(value);
  const endpoints = list(spec["endpoints"]);
  return {
    name: text(spec["name"]),
    description: text(spec["description"]),
    version: text(spec["version"]),
    category: text(spec["category"]),
    tags: asTexts(spec["tags"]),
    examples: asTexts(spec["examples"]),
    authMode: asTexts(spec["authMode"]),
    networks: list(spec["networks"])
      .filter((each) => each["enabled"] === true)
      .map((each) => text(each["id"])),
    safety: asRecord(spec["safety"]),
    actions: list(spec["actions"]).map((action) => readAction(action, endpoints)),
    limits: asTexts(spec["limits"]),
  };
}

const AUTH_SENTENCES: Record<string, string> = {
  none: "no credential",
  user_session: "a session",
  api_key: "an API key",
  x402: "a payment",
  wallet_auth_entry: "a wallet's authorization entry",
  wallet_transaction: "a wallet's transaction",
};

export const describeAuth = (modes: readonly string[]): string =>
  modes.map((each) => AUTH_SENTENCES[each] ?? each.replaceAll("_", " ")).join(", ");

/** How to install a skill with curl; `origin` is that of the service. */
export function installCommand(origin: string, slug: string): string {
  return [
    `mkdir -p skills/${slug}`,
    `curl -sS --fail-with-body "${origin}/v1/skills/${slug}/SKILL.md" -o skills/${slug}/SKILL.md`,
  ].join("\n");
}

/** The configuration of an MCP client for the service's own server. */
export const mcpConfiguration = (origin: string): string =>
  JSON.stringify({ mcpServers: { farebox: { type: "http", url: `${origin}/mcp` } } }, null, 2);
