import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { SELLER_PROGRAMS, writeSettings } from "./sellerPrograms";

const page = readFileSync("../docs/sell.md", "utf8");

test.each(SELLER_PROGRAMS)("the program $file is the one of docs/sell.md", ({ file, program, install, run }) => {
  expect(page).toContain(`${file}\n${program}\`\`\`\n`);
  expect(page).toContain(`\`\`\`sh server\n${run}\n\`\`\``);
  expect(page).toContain(install === null ? run : `\`\`\`sh\n${install}\n\`\`\``);
});

test("writeSettings quotes what it writes for a shell", () => {
  const text = writeSettings({ facilitator: "http://x/'$(id)'", network: "stellar:testnet", asset: "C", payTo: "G" });
  expect(text).toContain(`export FACILITATOR_URL='http://x/'\\''$(id)'\\'''`);
});
