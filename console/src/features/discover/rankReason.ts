import { asRecord, asTexts } from "@/api/records";

export interface Reason {
  /** Short sentences, the strongest first. */
  sentences: string[];
  /** Parts of a thousand, for a bar. */
  scores: { label: string; value: number }[];
}

const FIELD_NAMES: Record<string, string> = {
  serviceName: "name",
  "tags or toolName": "tags",
  description: "description",
  "parameters or url": "parameters or address",
};

const FRESHNESS: Record<string, string> = {
  day: "Paid for, or listed, within a day.",
  week: "Paid for, or listed, within a week.",
  month: "Paid for, or listed, within a month.",
  quarter: "Paid for, or listed, within a quarter of a year.",
};

const asNumber = (value: unknown): number => (typeof value === "number" && Number.isFinite(value) ? value : 0);

function sentenceOf(word: unknown): string | null {
  const { word: sought, found, as, in: fields } = asRecord(word);
  if (typeof sought !== "string") return null;
  const places = asTexts(fields).map((each) => FIELD_NAMES[each] ?? each);
  const where = places.length === 0 ? "" : ` in its ${places.join(", ")}`;
  if (as === "synonym") return `“${String(found)}” for “${sought}”${where}.`;
  if (as === "typo") return `“${String(found)}”, meant by “${sought}”,${where || " in its text"}.`;
  return `“${sought}”${where}.`;
}

function payersOf(payers: number): string {
  if (payers === 0) return "No independent payer yet.";
  return payers === 1 ? "One independent payer." : `${payers} independent payers.`;
}

/** Why a result ranks where it does (`explain` of the search, docs/search.md); null without it. */
export function readReason(explain: unknown): Reason | null {
  const own = asRecord(explain);
  if (!("relevance" in own)) return null;
  const scores = asRecord(own["scores"]);
  const words = Array.isArray(own["words"]) ? own["words"].map(sentenceOf).filter((each) => each !== null) : [];
  const sentences = [...words];
  if (scores["everyWord"] === true && words.length > 1) sentences.push("It has every word of the search.");
  if (asTexts(own["foundBy"]).includes("meaning")) sentences.push("Its meaning is close to that of the search.");
  const fresh = FRESHNESS[String(own["freshness"])];
  sentences.push(fresh ?? "Not paid for in the last quarter of a year.", payersOf(asNumber(own["payers"])));
  const shown = [
    { label: "Words of the search that it has", value: asNumber(scores["covered"]) },
    { label: "The same, weighted by where they stand", value: asNumber(scores["weighted"]) },
    ...("meaning" in scores ? [{ label: "Similarity of meaning", value: asNumber(scores["meaning"]) }] : []),
  ];
  return { sentences, scores: shown.map((each) => ({ ...each, value: Math.min(Math.max(each.value, 0), 1_000) })) };
}

/** How the search understood the words: those that it replaced or left aside. */
export function readUnderstanding(explain: unknown): string[] {
  const own = asRecord(explain);
  const words = Array.isArray(own["words"]) ? own["words"].map(asRecord) : [];
  const sentences: string[] = [];
  for (const { word, inPlace } of words) {
    const others = asTexts(inPlace).slice(0, 6);
    if (typeof word === "string" && others.length > 0) sentences.push(`“${word}” also finds ${others.map((each) => `“${each}”`).join(", ")}.`);
  }
  if ("absent" in asRecord(own["meaning"])) sentences.push("The search compared words alone: no language model judged the meaning.");
  return sentences;
}
