import { render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { Table } from "./Table";
import { spaceAround, WINDOWED_ABOVE } from "./windowing";

const rows = (count: number) => Array.from({ length: count }, (_, index) => ({ id: `row ${index}` }));
const columns = [{ id: "id", label: "Id", cell: (row: { id: string }) => row.id }];

test("spaceAround fills what is not rendered", () => {
  const items = [
    { start: 1200, end: 1250 },
    { start: 1250, end: 1300 },
  ];
  expect(spaceAround(items, 5000, 200)).toEqual({ before: 1000, after: 3900 });
  expect(spaceAround([], 5000, 200)).toEqual({ before: 0, after: 5000 });
});

test("a short table has all of its rows in the document", () => {
  render(<Table name="short" columns={columns} rows={rows(WINDOWED_ABOVE)} rowKey={(row) => row.id} />);
  expect(screen.getByRole("table", { name: "short" }).querySelectorAll("tbody tr")).toHaveLength(WINDOWED_ABOVE);
});

test("a table of ten thousand rows has few in the document and says how many there are", () => {
  render(<Table name="long" columns={columns} rows={rows(10_000)} rowKey={(row) => row.id} />);
  const table = screen.getByRole("table", { name: "long" });
  expect(table.querySelectorAll("tbody tr").length).toBeLessThan(WINDOWED_ABOVE);
  expect(table.getAttribute("aria-rowcount")).toBe("10001");
});

test("text of outsiders stays text in a cell", () => {
  const hostile = "<img src=x onerror=alert(1)>";
  render(<Table name="hostile" columns={columns} rows={[{ id: hostile }]} rowKey={(row) => row.id} />);
  expect(screen.getByText(hostile)).toBeTruthy();
  expect(document.querySelector("img")).toBeNull();
});
