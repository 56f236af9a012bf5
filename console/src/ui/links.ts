/** Reads a URL that an outsider wrote: https only, without user info. Null for everything else. */
export function readHttpsUrl(text: string): URL | null {
  try {
    const url = new URL(text);
    return url.protocol === "https:" && url.username === "" && url.password === "" ? url : null;
  } catch {
    return null;
  }
}

const EXPLORERS: Record<string, string> = {
  "stellar:testnet": "https://stellar.expert/explorer/testnet",
  "stellar:pubnet": "https://stellar.expert/explorer/public",
};

/** The explorer's page of a transaction, an account or a contract. Null on another network. */
export function explorerUrl(network: string, id: string): string | null {
  const explorer = EXPLORERS[network];
  if (explorer === undefined) return null;
  if (/^[0-9a-f]{64}$/.test(id)) return `${explorer}/tx/${id}`;
  if (/^G[A-Z2-7]{55}$/.test(id)) return `${explorer}/account/${id}`;
  if (/^C[A-Z2-7]{55}$/.test(id)) return `${explorer}/contract/${id}`;
  return null;
}

/** Shortens an address or a hash to its two ends; a short text stays as it is. */
export const shorten = (text: string, ends = 5): string =>
  text.length <= 2 * ends + 3 ? text : `${text.slice(0, ends)}…${text.slice(-ends)}`;
