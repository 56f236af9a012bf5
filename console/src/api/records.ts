/** A JSON object of which nothing is known yet. */
export type JsonObject = Record<string, unknown>;

export const isRecord = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** An object, or an empty one in place of any other value. */
export const asRecord = (value: unknown): JsonObject => (isRecord(value) ? value : {});

/** The texts of a list; an empty list in place of any other value. */
export const asTexts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((each): each is string => typeof each === "string") : [];

/** A member of an object by a stranger's name, which may be one that every object inherits. */
export const memberOf = (value: JsonObject, name: string): unknown =>
  Object.hasOwn(value, name) ? value[name] : undefined;
