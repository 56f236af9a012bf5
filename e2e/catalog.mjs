// Unmodified npm packages list tools by settling, and read the catalog as a stock client does.
//
// CATALOG is JSON: {"facilitator", "settle": [{"payment", "terms", "resource", "discovery"}],
// "list": [params, ...], "search": [params, ...]}. Each payment is settled with the resource and
// the declaration of @x402/extensions in it; a search with `walk` follows the cursor to the end.
// Prints one JSON object: every answer as the client returned it, in the order asked, or the error
// it threw.
import { HTTPFacilitatorClient } from "x402-core-2.27/server";
import { declareDiscoveryExtension, withBazaar } from "x402-extensions-2.27/bazaar";

const asked = JSON.parse(process.env.CATALOG);
const client = withBazaar(new HTTPFacilitatorClient({ url: asked.facilitator }));

async function each(items, call) {
  const answers = [];
  for (const item of items) {
    try {
      answers.push({ answer: await call(item) });
    } catch (error) {
      answers.push({ error: `${error.name}: ${error.message}` });
    }
  }
  return answers;
}

function settle({ payment, terms, resource, discovery }) {
  const extensions = { ...payment.extensions, ...declareDiscoveryExtension(discovery) };
  return client.settle({ ...payment, resource, extensions }, terms);
}

async function search({ walk, ...params }) {
  const first = await client.extensions.bazaar.search(params);
  let next = walk ? first.pagination?.cursor : null;
  for (let page = 0; next && page < 100; page += 1) {
    const more = await client.extensions.bazaar.search({ ...params, cursor: next });
    first.resources.push(...more.resources);
    next = more.pagination?.cursor;
  }
  return first;
}

console.log(
  JSON.stringify({
    settle: await each(asked.settle, settle),
    list: await each(asked.list, (params) => client.extensions.bazaar.listResources(params)),
    search: await each(asked.search, search),
  }),
);
