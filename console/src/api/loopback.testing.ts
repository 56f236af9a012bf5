import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach } from "vitest";

declare global {
  interface Window {
    happyDOM: { setURL: (url: string) => void };
  }
}

let server: Server | undefined;

/** Makes this the address of the page, so that its requests go there. */
export const pageAt = (url: string): void => window.happyDOM.setURL(url);

/** Serves one answer to every request on the loopback and makes it the page's origin. */
export async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<void> {
  const started = createServer(answer);
  server = started;
  await new Promise<void>((resolve) => started.listen(0, "127.0.0.1", resolve));
  const { port } = started.address() as AddressInfo;
  pageAt(`http://127.0.0.1:${port}/`);
}

/** Answers with JSON. */
export function answerJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});
