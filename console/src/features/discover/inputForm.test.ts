import { describe, expect, test } from "vitest";
import { formOf, initialValues, pathNames, readForm } from "./inputForm";
import type { Listing } from "./listing";

const listing = (resource: string, input: object, parts: object = {}): Listing =>
  ({
    resource,
    extensions: { bazaar: { info: { input }, schema: { properties: { input: { properties: parts } } } } },
  }) as unknown as Listing;

const WEATHER = listing(
  "https://api.example.com/weather/:city/days",
  { queryParams: { units: "metric" }, pathParams: { city: "Paris" } },
  {
    queryParams: {
      type: "object",
      required: ["days"],
      properties: {
        days: { type: "integer", description: "How many." },
        units: { type: "string", enum: ["metric", "imperial"] },
        alerts: { type: "boolean" },
      },
    },
  },
);

describe("formOf", () => {
  test("makes fields of path, query and example", () => {
    const fields = formOf(WEATHER, "GET");
    expect(fields.map(({ id, type, isRequired, initial }) => [id, type, isRequired, initial])).toEqual([
      ["pathParams.city", "text", true, "Paris"],
      ["query.days", "integer", true, ""],
      ["query.units", "text", false, "metric"],
      ["query.alerts", "boolean", false, ""],
    ]);
    expect(fields[2]?.choices).toEqual(["metric", "imperial"]);
  });

  test("makes fields of an object body, and one JSON value of any other", () => {
    const schema = { type: "object", required: ["text"], properties: { text: { type: "string" }, tags: { type: "array" } } };
    const typed = formOf(listing("https://a.example/x", { body: { text: "hi" } }, { body: schema }), "POST");
    expect(typed.map(({ id, type }) => [id, type])).toEqual([["body.text", "text"], ["body.tags", "json"]]);
    const list = formOf(listing("https://a.example/x", { body: [1] }, { body: { type: "array" } }), "POST");
    expect(list).toMatchObject([{ id: "body", type: "json", isRequired: true }]);
  });

  test("asks for no body of a GET, and for a JSON value where a POST states nothing", () => {
    expect(formOf(listing("https://a.example/x", { body: { a: 1 } }), "GET")).toEqual([]);
    expect(formOf(listing("https://a.example/x", {}), "POST")).toMatchObject([{ id: "body", isRequired: false }]);
  });

  test("survives extensions of any shape and names that every object has", () => {
    for (const extensions of [null, [], "x", { bazaar: 7 }, { bazaar: { info: [], schema: { properties: 3 } } }]) {
      expect(formOf({ resource: "https://a.example/x", extensions } as unknown as Listing, "GET")).toEqual([]);
    }
    const hostile = formOf(listing("https://a.example/:constructor", {}), "GET");
    expect(hostile).toMatchObject([{ name: "constructor", type: "text", initial: "" }]);
  });
});

test("pathNames reads the names of the path alone", () => {
  expect(pathNames("http://localhost:8080/a/:one/:two?x=/:no")).toEqual(["one", "two"]);
});

describe("readForm", () => {
  const fields = formOf(WEATHER, "GET");

  test("makes typed arguments and leaves empty optional fields out", () => {
    const values = { ...initialValues(fields), "query.days": "3" };
    expect(readForm(fields, values)).toEqual({
      errors: {},
      args: { pathParams: { city: "Paris" }, query: { days: 3, units: "metric" } },
    });
  });

  test("names what is missing and what is no number", () => {
    expect(readForm(fields, {}).errors).toEqual({ "pathParams.city": "This is needed.", "query.days": "This is needed." });
    for (const text of ["3.5", "x", "1e999", "0x10", "Infinity"]) {
      expect(readForm(fields, { "pathParams.city": "a", "query.days": text }).errors).toHaveProperty("query.days");
    }
  });

  test("reads JSON and refuses what is none", () => {
    const body = formOf(listing("https://a.example/x", {}), "POST");
    expect(readForm(body, { body: "[1, {}]" }).args).toEqual({ body: [1, {}] });
    expect(readForm(body, { body: "{" }).errors).toEqual({ body: "This is not JSON." });
    expect(readForm(body, {}).args).toEqual({});
  });
});
