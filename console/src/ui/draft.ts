/**
 * A form as its fields hold it: every value is a text. A list is a text of ids (`terms`: "a b"), and
 * a member of one of its entries is `terms.a.amount`.
 */
export type Draft = Record<string, string>;

export const idsOf = (draft: Draft, list: string): string[] =>
  (draft[list] ?? "").split(" ").filter((each) => each !== "");

let lastId = 0;
const newId = (): string => `n${++lastId}`;

/** Adds members under a new id at the end of a list. */
export function addTo(draft: Draft, list: string, members: Record<string, string>): Draft {
  const id = newId();
  const named = Object.entries(members).map(([name, value]) => [`${list}.${id}.${name}`, value]);
  return { ...draft, [list]: [...idsOf(draft, list), id].join(" "), ...Object.fromEntries(named) };
}

/** Removes an entry of a list with its members. */
export function removeFrom(draft: Draft, list: string, id: string): Draft {
  const kept = Object.entries(draft).filter(([name]) => !name.startsWith(`${list}.${id}.`));
  return { ...Object.fromEntries(kept), [list]: idsOf(draft, list).filter((each) => each !== id).join(" ") };
}
