// Preload (node --require): the Horizon read costs nothing at all, for a comparison without it.
"use strict";

const { Horizon } = require("@stellar/stellar-sdk");

const newest = Date.now();
const records = Array.from({ length: 20 }, (_, i) => ({
  sequence: 1000 - i,
  closed_at: new Date(newest - i * 5000).toISOString(),
}));
const builder = { limit: () => builder, order: () => builder, call: async () => ({ records }) };

Horizon.Server.prototype.ledgers = () => builder;
