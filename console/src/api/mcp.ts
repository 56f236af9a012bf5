import { call } from "./client";
import type { CallOptions } from "./client";
import { isRecord } from "./records";
import type { JsonObject } from "./records";

/** The error of a tool; `data.reason` is for programs. */
export interface ToolRefusal {
  kind: "refused";
  code: number;
  reason: string;
  message: string;
  data: JsonObject;
}

export interface ToolResult {
  kind: "result";
  content: JsonObject;
}

/**
 * Reads the body of a response of `/mcp`: a result with `structuredContent`, or an error. One that is
 * no answer to the request of this id says nothing: it is a refusal with the code 0.
 */
export function readToolAnswer(body: unknown, id: number): ToolResult | ToolRefusal {
  const isAnswer = isRecord(body) && body["jsonrpc"] === "2.0" && body["id"] === id;
  const { result, error } = isAnswer ? body : {};
  if (isRecord(error)) {
    const data = isRecord(error["data"]) ? error["data"] : {};
    const { code, message } = error;
    return {
      kind: "refused",
      code: typeof code === "number" ? code : 0,
      reason: typeof data["reason"] === "string" ? data["reason"] : "",
      message: typeof message === "string" ? message : "The service gave no reason.",
      data,
    };
  }
  const content = isRecord(result) ? result["structuredContent"] : undefined;
  if (isRecord(content)) return { kind: "result", content };
  return { kind: "refused", code: 0, reason: "", message: "The service's answer could not be read.", data: {} };
}

let lastId = 0;

/** Calls a tool of the MCP server, once. Throws `ApiError` where the request itself failed. */
export async function callTool(name: string, args: JsonObject, options: CallOptions = {}) {
  lastId += 1;
  const id = lastId;
  const body = { jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } as never };
  return readToolAnswer(await call("POST /mcp", { body }, options), id);
}
