// The facilitator client of @x402/core 2.27 parses every kind of answer this facilitator gives.
//
// ANSWERS is JSON: {"facilitator", "good": {payment, terms}, "bad": {payment, terms}}; `good` is a
// fresh payment and is settled, `bad` is one that must be refused. Prints one JSON object: each
// answer as the client returned it, or the error it threw.
import { HTTPFacilitatorClient } from "x402-core-2.27/server";

const { facilitator, good, bad } = JSON.parse(process.env.ANSWERS);
const client = new HTTPFacilitatorClient({ url: facilitator });

async function parsed(call) {
  try {
    return { answer: await call() };
  } catch (error) {
    return { error: `${error.name}: ${error.message}` };
  }
}

console.log(
  JSON.stringify({
    supported: await parsed(() => client.getSupported()),
    verify_valid: await parsed(() => client.verify(good.payment, good.terms)),
    verify_invalid: await parsed(() => client.verify(bad.payment, bad.terms)),
    settle_ok: await parsed(() => client.settle(good.payment, good.terms)),
    settle_repeated: await parsed(() => client.settle(good.payment, good.terms)),
    settle_failed: await parsed(() => client.settle(bad.payment, bad.terms)),
  }),
);
