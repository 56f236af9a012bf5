// Preload (node --require): the public Horizon reads of the x402 packages are answered on loopback.
//
// The packages ask Horizon for recent ledgers to learn how fast they close, at fixed public
// addresses. Only requests to those two hosts are sent elsewhere, to HORIZON_URL; everything else,
// and every package file, is as published.
"use strict";

const http = require("node:http");
const https = require("node:https");

const HOSTS = new Set(["horizon-testnet.stellar.org", "horizon.stellar.org"]);
const stub = new URL(process.env.HORIZON_URL);
const request = https.request;

function hostOf(options) {
  return options instanceof URL ? options.hostname : (options?.hostname ?? options?.host);
}

https.request = function (options, ...rest) {
  const host = hostOf(options);
  if (!HOSTS.has(host)) {
    return request.call(this, options, ...rest);
  }
  return http.request(
    {
      method: options.method ?? "GET",
      headers: { ...options.headers, host: stub.host },
      protocol: "http:",
      hostname: stub.hostname,
      port: stub.port,
      path: `/${host}${options.path ?? options.pathname}`,
    },
    ...rest,
  );
};
