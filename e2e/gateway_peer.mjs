// The parts of BENCH=gateway that are not ours, chosen by PEER, which is JSON:
//   {"part": "upstream", "certificate"}: an HTTPS API; /1k answers 1 KB, /10m answers 10 MB
//   {"part": "facilitator"}: a stand-in that verifies and settles every payment at once
//   {"part": "seller", "facilitator", "upstream", "network", "payTo", "price"}: express with the
//     npm middleware, which fetches its paid answer from the upstream
// Prints one JSON line when it listens, and ends when its standard input does.
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { HTTPFacilitatorClient } from "@x402/core/server";
import { paymentMiddleware, x402ResourceServer } from "@x402/express";
import { ExactStellarScheme } from "@x402/stellar/exact/server";
import express from "express";

const peer = JSON.parse(process.env.PEER);
const SMALL = JSON.stringify({ report: "x".repeat(1000) });
const LARGE = Buffer.alloc(10 * 1024 * 1024, "x");
const PAYER = "GADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOZPI";

function upstream() {
  const pem = readFileSync(peer.certificate);
  return https.createServer({ key: pem, cert: pem }, (request, response) => {
    const body = request.url.startsWith("/10m") ? LARGE : SMALL;
    const type = body === SMALL ? "application/json" : "application/octet-stream";
    response.writeHead(200, { "content-type": type, "content-length": body.length });
    response.end(body);
  });
}

function facilitator() {
  const network = peer.network;
  const kinds = [{ x402Version: 2, scheme: "exact", network, extra: { areFeesSponsored: true } }];
  const answers = {
    "/supported": { kinds, extensions: [], signers: { "stellar:*": [PAYER] } },
    "/verify": { isValid: true, payer: PAYER },
    "/settle": { success: true, transaction: "ab".repeat(32), network, payer: PAYER },
  };
  return http.createServer((request, response) => {
    request.resume().on("end", () => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(answers[request.url] ?? {}));
    });
  });
}

function seller() {
  const client = new HTTPFacilitatorClient({ url: peer.facilitator });
  const resources = new x402ResourceServer(client).register("stellar:*", new ExactStellarScheme());
  const { network, payTo, price } = peer;
  const priced = {
    "GET /paid": {
      accepts: { scheme: "exact", network, payTo, price },
      description: "A report",
      mimeType: "application/json",
    },
  };
  const app = express();
  app.use(paymentMiddleware(priced, resources));
  app.get("/paid", async (request, response) => {
    const answer = await fetch(`${peer.upstream}/1k`, { headers: { authorization: "Bearer x" } });
    response.status(answer.status).type("application/json").send(await answer.text());
  });
  return http.createServer(app);
}

const secure = peer.part === "upstream" ? "https" : "http";
const server = { upstream, facilitator, seller }[peer.part]();
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => {
  const url = `${secure}://127.0.0.1:${server.address().port}`;
  console.log(JSON.stringify({ event: "listening", url }));
});
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
