// A buyer made of unmodified npm packages: @x402/fetch with the client scheme of @x402/stellar.
//
// BUYER is JSON: {"mode": "pay" | "sign", "url", "network", "rpc", "secret", "count"}.
// "pay" buys `count` times and prints one JSON line a purchase; "sign" prints `count` lines with a
// signed payment each, unspent.
import { decodePaymentResponseHeader, wrapFetchWithPayment } from "@x402/fetch";
import { x402Client, x402HTTPClient } from "@x402/core/client";
import { createEd25519Signer } from "@x402/stellar";
import { ExactStellarScheme } from "@x402/stellar/exact/client";

const buyer = JSON.parse(process.env.BUYER);
const signer = createEd25519Signer(buyer.secret, buyer.network);
const client = new x402Client().register(
  buyer.network,
  new ExactStellarScheme(signer, { url: buyer.rpc }),
);
const payingFetch = wrapFetchWithPayment(fetch, client);

async function pay() {
  const response = await payingFetch(buyer.url);
  const header = response.headers.get("PAYMENT-RESPONSE");
  const receipt = header ? decodePaymentResponseHeader(header) : null;
  const body = await response.text();
  const paid = response.status === 200 && receipt?.success === true;
  return { paid, status: response.status, receipt, body };
}

async function sign() {
  const offered = await fetch(buyer.url);
  await offered.arrayBuffer();
  const required = new x402HTTPClient(client).getPaymentRequiredResponse((name) =>
    offered.headers.get(name),
  );
  return { payment: await client.createPaymentPayload(required), required };
}

function explain(error) {
  const cause = error.cause ? ` (${error.cause.message ?? error.cause})` : "";
  return `${error.message}${cause}`;
}

const act = buyer.mode === "sign" ? sign : pay;
for (let turn = 0; turn < buyer.count; turn += 1) {
  const began = performance.now();
  let line;
  try {
    line = await act();
  } catch (error) {
    line = { paid: false, error: explain(error) };
  }
  console.log(JSON.stringify({ ...line, ms: Math.round(performance.now() - began) }));
}
