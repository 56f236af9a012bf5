// A seller made of unmodified npm packages: express, @x402/express and the facilitator's URL.
//
// SELLER is JSON: {"facilitator": url, "routes": [{"path", "network", "payTo", "price",
// "description", "discovery"?}]}; a route with `discovery` declares it with @x402/extensions.
// Prints one JSON line when it listens, and ends when its standard input does.
import { HTTPFacilitatorClient } from "@x402/core/server";
import { paymentMiddleware, x402ResourceServer } from "@x402/express";
import { bazaarResourceServerExtension, declareDiscoveryExtension } from "@x402/extensions/bazaar";
import { ExactStellarScheme } from "@x402/stellar/exact/server";
import express from "express";

const seller = JSON.parse(process.env.SELLER);
const facilitator = new HTTPFacilitatorClient({ url: seller.facilitator });
const resources = new x402ResourceServer(facilitator)
  .register("stellar:*", new ExactStellarScheme())
  .registerExtension(bazaarResourceServerExtension);
const priced = Object.fromEntries(
  seller.routes.map(({ path, network, payTo, price, description, discovery }) => [
    `GET ${path}`,
    {
      accepts: { scheme: "exact", network, payTo, price },
      description,
      mimeType: "application/json",
      ...(discovery && { extensions: declareDiscoveryExtension(discovery) }),
    },
  ]),
);

const app = express();
app.use(paymentMiddleware(priced, resources));
for (const { path, network } of seller.routes) {
  app.get(path, (request, response) => response.json({ report: "paid for", network }));
}

const server = app.listen(0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  console.log(JSON.stringify({ event: "listening", url }));
});
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
