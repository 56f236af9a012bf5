// The npm facilitator for Stellar behind the HTTP routes of the x402 repository's example.
//
// The example logs the whole context twice a request; here one line a request is written, as our
// service writes one, because the longer form would only slow this side down.
//
// Environment: PORT, RPC_URL, RELAYER_SECRET (several, separated by commas, take turns).
// Prints one JSON line when it listens.
import { x402Facilitator } from "@x402/core/facilitator";
import { createEd25519Signer } from "@x402/stellar";
import { ExactStellarScheme } from "@x402/stellar/exact/facilitator";
import express from "express";

const NETWORK = "stellar:testnet";

const secrets = process.env.RELAYER_SECRET.split(",");
const signers = secrets.map((secret) => createEd25519Signer(secret, NETWORK));
const scheme = new ExactStellarScheme(signers, { rpcConfig: { url: process.env.RPC_URL } });
const facilitator = new x402Facilitator().register(NETWORK, scheme);

function logLine(path, status, began) {
  const took = (performance.now() - began).toFixed(3);
  console.log(JSON.stringify({ time: new Date().toISOString(), path, status, ms: took }));
}

function answerWith(judge) {
  return async (request, response) => {
    const began = performance.now();
    try {
      const { paymentPayload, paymentRequirements } = request.body;
      if (!paymentPayload || !paymentRequirements) {
        return response
          .status(400)
          .json({ error: "Missing paymentPayload or paymentRequirements" });
      }
      return response.json(await judge(paymentPayload, paymentRequirements));
    } catch (error) {
      return response
        .status(500)
        .json({ error: error instanceof Error ? error.message : "Unknown error" });
    } finally {
      logLine(request.path, response.statusCode, began);
    }
  };
}

const app = express();
app.use(express.json());
app.post("/verify", answerWith((payload, terms) => facilitator.verify(payload, terms)));
app.post("/settle", answerWith((payload, terms) => facilitator.settle(payload, terms)));
app.get("/supported", (request, response) => response.json(facilitator.getSupported()));

const server = app.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => {
  const { port } = server.address();
  console.log(JSON.stringify({ event: "listening", url: `http://127.0.0.1:${port}` }));
});
process.on("SIGTERM", () => process.exit(0));
