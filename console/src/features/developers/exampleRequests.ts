/** A request to show, as a program would make it. */
export interface ExampleRequest {
  id: string;
  title: string;
  method: "GET" | "POST";
  path: string;
  body?: unknown;
  /** The scope that its key needs; null where no key is needed. */
  scope: string | null;
}

export const EXAMPLE_REQUESTS: readonly ExampleRequest[] = [
  { id: "search", title: "Search the catalog", method: "GET", path: "/discovery/search?query=weather%20forecast", scope: null },
  { id: "payments", title: "List what you received", method: "GET", path: "/v1/payments?role=received&limit=20", scope: "read" },
  { id: "usage", title: "Read your usage", method: "GET", path: "/v1/usage", scope: "read" },
  {
    id: "secret",
    title: "Store a secret",
    method: "POST",
    path: "/v1/vault/secrets",
    body: { name: "forecast api", purpose: "bearer", value: "…" },
    scope: "wrappers",
  },
];

export type Language = "curl" | "python" | "typescript";

export const LANGUAGES: readonly { id: Language; label: string }[] = [
  { id: "curl", label: "curl" },
  { id: "python", label: "Python" },
  { id: "typescript", label: "TypeScript" },
];

/** Quotes a text for a POSIX shell. */
const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

function curl({ method, path, body, scope }: ExampleRequest, origin: string): string {
  const lines = [`curl -sS --fail-with-body ${method === "GET" ? "" : `-X ${method} `}${quote(origin + path)}`];
  if (scope !== null) lines.push('-H "Authorization: Bearer $FAREBOX_KEY"');
  if (body !== undefined) lines.push("-H 'Content-Type: application/json'", `-d ${quote(JSON.stringify(body))}`);
  return lines.join(" \\\n  ");
}

function python({ method, path, body, scope }: ExampleRequest, origin: string): string {
  const headers = [
    ...(scope === null ? [] : ['"Authorization": "Bearer " + os.environ["FAREBOX_KEY"]']),
    ...(body === undefined ? [] : ['"Content-Type": "application/json"']),
  ];
  const members = [
    JSON.stringify(origin + path),
    ...(body === undefined ? [] : [`data=json.dumps(${JSON.stringify(body)}).encode()`]),
    ...(headers.length === 0 ? [] : [`headers={${headers.join(", ")}}`]),
    ...(method === "GET" ? [] : [`method="${method}"`]),
  ];
  return [
    "import json",
    ...(scope === null ? [] : ["import os"]),
    "import urllib.error",
    "import urllib.request",
    "",
    "request = urllib.request.Request(",
    ...members.map((each) => `    ${each},`),
    ")",
    "try:",
    "    with urllib.request.urlopen(request, timeout=20) as response:",
    "        print(json.load(response))",
    "except urllib.error.HTTPError as error:",
    '    print(json.load(error)["error"])  # code, message and requestId',
    "    raise",
  ].join("\n");
}

function typescript({ method, path, body, scope }: ExampleRequest, origin: string): string {
  const headers = [
    ...(scope === null ? [] : ["Authorization: `Bearer ${process.env.FAREBOX_KEY}`"]),
    ...(body === undefined ? [] : ['"Content-Type": "application/json"']),
  ];
  const members = [
    ...(method === "GET" ? [] : [`method: "${method}"`]),
    ...(headers.length === 0 ? [] : [`headers: { ${headers.join(", ")} }`]),
    ...(body === undefined ? [] : [`body: JSON.stringify(${JSON.stringify(body)})`]),
    "signal: AbortSignal.timeout(20_000)",
  ];
  return [
    `const response = await fetch(${JSON.stringify(origin + path)}, {`,
    ...members.map((each) => `  ${each},`),
    "});",
    "const answer = await response.json();",
    "if (!response.ok) {",
    "  const { code, message, requestId } = answer.error;",
    "  throw new Error(`${code}: ${message} (request ${requestId})`);",
    "}",
    "console.log(answer);",
  ].join("\n");
}

const WRITERS: Record<Language, (request: ExampleRequest, origin: string) => string> = { curl, python, typescript };

/** Writes a request as a program in a language; the key comes from FAREBOX_KEY and stands in no code. */
export const writeExample = (request: ExampleRequest, language: Language, origin: string): string =>
  WRITERS[language](request, origin);
