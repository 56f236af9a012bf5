import { expect, test } from "vitest";
import { csvCell, csvText } from "./csv";

test.each([
  ["plain", "plain"],
  ["a,b", '"a,b"'],
  ['say "hi"', '"say ""hi"""'],
  ["two\nlines", '"two\nlines"'],
  ["", ""],
  ["0.0010000", "0.0010000"],
])("csvCell writes %j as %j", (text, expected) => expect(csvCell(text)).toBe(expected));

test.each(["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", '=HYPERLINK("https://x.example")', "＝1"])(
  "csvCell keeps a spreadsheet from running %j",
  (text) => {
    const cell = csvCell(text);
    expect(cell.startsWith(`"'`)).toBe(true);
    expect(cell.slice(1, -1).replaceAll('""', '"')).toBe(`'${text}`);
  },
);

test("csvText ends every row", () => {
  expect(csvText([["a", "b"], ["1", "x,y"]])).toBe('a,b\r\n1,"x,y"\r\n');
});
