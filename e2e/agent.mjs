// An agent made of the unmodified npm packages @modelcontextprotocol/sdk and @stellar/stellar-sdk.
//
// AGENT is JSON: {"service", "network", "payer", "secret", "query", "resource", "count"}. The agent
// searches, calls the resource unpaid, has the service prepare the payment, signs its 32 bytes,
// calls the resource with the payment, and makes the same call again; `count` times in one session.
// Prints one JSON line a purchase: {"challenge", "paid", "again"}, each a tool result as the client
// returned it, or {"error"}.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Keypair } from "@stellar/stellar-sdk";

const agent = JSON.parse(process.env.AGENT);
const key = Keypair.fromSecret(agent.secret);

async function post(path, body) {
  const headers = { "content-type": "application/json" };
  const sent = { method: "POST", headers, body: JSON.stringify(body) };
  const response = await fetch(agent.service + path, sent);
  if (response.status !== 200) throw new Error(`${path}: ${await response.text()}`);
  return response.json();
}

async function find(client) {
  const { query, network } = agent;
  const search = { name: "search_services", arguments: { query, network } };
  const { structuredContent } = await client.callTool(search);
  const hit = structuredContent.resources.find((each) => each.resource === agent.resource);
  if (hit === undefined) throw new Error("the search does not find the resource");
  const parameters = hit.example?.queryParams;
  return { ...hit.callWith.arguments, ...(parameters && { query: parameters }) };
}

async function sign({ accepts, resource, extensions }) {
  const requirements = accepts.find((each) => each.network === agent.network);
  const prepared = await post("/v1/payments/prepare", { requirements, payer: agent.payer });
  const signature = key.sign(Buffer.from(prepared.hash, "hex")).toString("base64");
  const { entry } = prepared;
  const completion = { entry, signature, requirements, resource, extensions };
  return (await post("/v1/payments/complete", completion)).paymentSignature;
}

async function buy(client) {
  const target = await find(client);
  const call = (more) => client.callTool({ name: "paid_call", arguments: { ...target, ...more } });
  const challenge = await call({});
  const paymentSignature = await sign(challenge.structuredContent);
  const paid = await call({ paymentSignature });
  return { challenge, paid, again: await call({ paymentSignature }) };
}

const client = new Client({ name: "farebox-e2e", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(`${agent.service}/mcp`)));
const { tools } = await client.listTools();
const names = tools.map((each) => each.name).sort().join();
if (names !== "paid_call,search_services") throw new Error(`other tools: ${names}`);
for (let turn = 0; turn < agent.count; turn += 1) {
  let line;
  try {
    line = await buy(client);
  } catch (error) {
    line = { error: `${error.name}: ${error.message}` };
  }
  console.log(JSON.stringify(line));
}
await client.close();
