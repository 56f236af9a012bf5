import { asRecord, asTexts, isRecord, memberOf } from "@/api/records";
import type { JsonObject } from "@/api/records";
import type { Listing } from "./listing";
import { readBlock, schemaOf } from "./listing";
import type { CallArguments } from "./pay";

type Place = "pathParams" | "query" | "body";
export type FieldType = "text" | "number" | "integer" | "boolean" | "json";

/** One input of the form, made from the listing's schema and example: a stranger's words. */
export interface InputField {
  /** Unique in the form. */
  id: string;
  place: Place;
  /** Empty for a body that is one JSON value. */
  name: string;
  type: FieldType;
  choices: string[];
  isRequired: boolean;
  description: string;
  initial: string;
}

const MAX_FIELDS = 40;
const MAX_DESCRIPTION = 300;

function typeOf(schema: JsonObject, example: unknown): FieldType {
  const type = Array.isArray(schema["type"]) ? schema["type"].find((each) => each !== "null") : schema["type"];
  if (type === "string") return "text";
  if (type === "number" || type === "integer" || type === "boolean") return type;
  if (type === "array" || type === "object") return "json";
  if (typeof example === "number") return "number";
  if (typeof example === "boolean") return "boolean";
  return typeof example === "object" && example !== null ? "json" : "text";
}

function writeValue(value: unknown, type: FieldType): string {
  if (value === undefined || value === null) return "";
  return type === "json" ? JSON.stringify(value, null, 2) : String(value);
}

/** The fields of an object schema; names of the example that it does not know are added. */
function fieldsOf(place: Place, schema: JsonObject | null, example: JsonObject, names: readonly string[] = []): InputField[] {
  const properties = asRecord(schema?.["properties"]);
  const required = new Set(place === "pathParams" ? names : asTexts(schema?.["required"]));
  const all = place === "pathParams" ? names : [...new Set([...Object.keys(properties), ...Object.keys(example)])];
  return all.map((name) => {
    const own = asRecord(memberOf(properties, name));
    const shown = memberOf(example, name);
    const type = typeOf(own, shown);
    const choices = Array.isArray(own["enum"]) && type !== "json" ? own["enum"].map(String).slice(0, 200) : [];
    const description = typeof own["description"] === "string" ? own["description"].slice(0, MAX_DESCRIPTION) : "";
    const initial = writeValue(shown ?? own["default"], type);
    return { id: `${place}.${name}`, place, name, type, choices, isRequired: required.has(name), description, initial };
  });
}

/** The `:names` in the path of a listing's URL. */
export const pathNames = (resource: string): string[] =>
  (resource.split("?")[0] ?? "")
    .replace(/^https?:\/\/[^/]*/, "")
    .split("/")
    .filter((segment) => segment.startsWith(":"))
    .map((segment) => segment.slice(1));

const jsonBody = (example: unknown, isRequired: boolean): InputField => ({
  id: "body",
  place: "body",
  name: "",
  type: "json",
  choices: [],
  isRequired,
  description: "A JSON value.",
  initial: writeValue(example, "json"),
});

function bodyFields(schema: JsonObject | null, example: unknown): InputField[] {
  if (schema === null && example === undefined) return [jsonBody(undefined, false)];
  const isObject = schema === null ? isRecord(example) : schema["type"] === "object" || isRecord(schema["properties"]);
  const fields = isObject ? fieldsOf("body", schema, asRecord(example)) : [];
  return fields.length > 0 && fields.length <= MAX_FIELDS ? fields : [jsonBody(example, schema !== null)];
}

/** The inputs of a listing for a method. At most 40 of a part; a larger body is one JSON value. */
export function formOf(listing: Listing, method: "GET" | "POST"): InputField[] {
  const { input, schema } = readBlock(listing);
  const path = fieldsOf("pathParams", schemaOf(schema, "input", "pathParams"), asRecord(input["pathParams"]), pathNames(listing.resource));
  const query = fieldsOf("query", schemaOf(schema, "input", "queryParams"), asRecord(input["queryParams"]));
  const body = method === "POST" ? bodyFields(schemaOf(schema, "input", "body"), input["body"]) : [];
  return [...path, ...query.slice(0, MAX_FIELDS), ...body];
}

const NUMBER = /^-?(0|[1-9]\d{0,20})(\.\d{1,20})?([eE][+-]?\d{1,3})?$/;

/** Reads one value. Throws a sentence about what is wrong with it. */
function readValue(field: InputField, text: string): unknown {
  if (field.type === "text") return text;
  if (field.type === "boolean") return text === "true";
  if (field.type === "json") {
    try {
      return JSON.parse(text);
    } catch {
      throw new Error("This is not JSON.");
    }
  }
  const trimmed = text.trim();
  const value = Number(trimmed);
  if (!NUMBER.test(trimmed) || !Number.isFinite(value)) throw new Error("Write a number, such as 12.5.");
  if (field.type === "integer" && !Number.isSafeInteger(value)) throw new Error("Write a whole number.");
  return value;
}

export interface ReadForm {
  /** By the id of a field. */
  errors: Record<string, string>;
  args: Pick<CallArguments, "pathParams" | "query" | "body">;
}

/** Makes the arguments of the call of what was typed. An empty optional field is left out. */
export function readForm(fields: readonly InputField[], values: Record<string, string>): ReadForm {
  const errors: Record<string, string> = {};
  const parts: Record<Place, JsonObject> = { pathParams: {}, query: {}, body: {} };
  let whole: unknown;
  for (const field of fields) {
    const text = values[field.id] ?? "";
    if (text.trim() === "") {
      if (field.isRequired) errors[field.id] = "This is needed.";
      continue;
    }
    try {
      const value = readValue(field, text);
      if (field.name === "") whole = value;
      else parts[field.place][field.name] = value;
    } catch (error) {
      errors[field.id] = (error as Error).message;
    }
  }
  const args: ReadForm["args"] = {};
  if (Object.keys(parts.pathParams).length > 0) args.pathParams = parts.pathParams;
  if (Object.keys(parts.query).length > 0) args.query = parts.query;
  const hasBody = fields.some((field) => field.place === "body" && field.name !== "");
  if (whole !== undefined) args.body = whole;
  else if (hasBody) args.body = parts.body;
  return { errors, args };
}

/** The values of the form before anything is typed: those of the listing's example. */
export const initialValues = (fields: readonly InputField[]): Record<string, string> =>
  Object.fromEntries(fields.map((field) => [field.id, field.initial]));
