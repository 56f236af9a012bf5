// What the unmodified npm package @modelcontextprotocol/sdk gets from `/mcp` beside purchases.
//
// WIRE is JSON: {"service", "calls": {name: [tool, arguments]}}. The client connects to `/mcp/`,
// and opens every connection with a protocol version that the service does not serve in the header
// of `initialize`. Prints one JSON line: {name: ""} for a result, {name: reason} for an error.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { service, calls } = JSON.parse(process.env.WIRE);

function fetchOpening(url, init) {
  if (init?.method !== "POST" || JSON.parse(init.body).method !== "initialize")
    return fetch(url, init);
  const headers = new Headers(init.headers);
  headers.set("mcp-protocol-version", "2024-11-05");
  return fetch(url, { ...init, headers });
}

const client = new Client({ name: "farebox-e2e", version: "1" });
const options = { fetch: fetchOpening };
await client.connect(new StreamableHTTPClientTransport(new URL(`${service}/mcp/`), options));
await client.listTools();
const results = {};
for (const [name, [tool, given]] of Object.entries(calls)) {
  try {
    await client.callTool({ name: tool, arguments: given });
    results[name] = "";
  } catch (error) {
    results[name] = error.data?.reason ?? `${error.name}: ${error.message}`;
  }
}
await client.close();
console.log(JSON.stringify(results));
