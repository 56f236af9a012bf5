/**
 * The keys of the query cache. Each begins with the list that it belongs to, so that a change
 * invalidates the list and its records at once: `invalidateQueries({ queryKey: keys.wrappers })`.
 */
export const keys = {
  owner: ["owner"] as const,
  networks: ["networks"] as const,
  health: ["health"] as const,
  apiKeys: ["api-keys"] as const,
  secrets: ["secrets"] as const,
  usage: ["usage"] as const,
  audit: ["audit"] as const,
  automations: ["automations"] as const,
  wrappers: ["wrappers"] as const,
  payments: ["payments"] as const,
  listings: ["listings"] as const,
  accounts: ["accounts"] as const,
  skills: ["skills"] as const,
};
