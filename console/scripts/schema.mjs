// node scripts/schema.mjs OPENAPI_JSON OUTPUT: writes the TypeScript types of the API schema.
// Error responses are left out: all have one shape, src/api/errors.ts. The first line carries the
// SHA-256 of the schema and of the types, which tests/unit/app/test_console_types.py compares.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import openapi, { astToString } from "openapi-typescript";

const [input, output] = process.argv.slice(2);
if (!input || !output) throw new Error("usage: node scripts/schema.mjs OPENAPI_JSON OUTPUT");
const sha256 = (text) => createHash("sha256").update(text).digest("hex");

const text = readFileSync(input, "utf8");
const schema = JSON.parse(text);
for (const operations of Object.values(schema.paths)) {
  for (const operation of Object.values(operations)) {
    for (const status of Object.keys(operation.responses)) {
      if (status >= "300") delete operation.responses[status];
    }
  }
}
const types = astToString(await openapi(schema, { defaultNonNullable: false }));
writeFileSync(output, `// schema ${sha256(text)} types ${sha256(types)}\n${types}`);
