import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useRef, useState } from "react";
import type { ReactNode, Ref } from "react";
import { joinClasses } from "./joinClasses";
import styles from "./Table.module.css";
import { spaceAround, WINDOWED_ABOVE } from "./windowing";

export interface Column<Row> {
  id: string;
  /** The column's heading; on a phone it stands before the cell. */
  label: string;
  /** Whether the heading is for screen readers only, as over a column of buttons. */
  isLabelHidden?: boolean;
  align?: "start" | "end";
  cell: (row: Row) => ReactNode;
}

interface TableProps<Row> {
  /** What the table lists, for screen readers. */
  name: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
}

const ROW_HEIGHT = 49;

interface RowProps<Row> {
  row: Row;
  columns: readonly Column<Row>[];
  index: number;
  measure?: Ref<HTMLTableRowElement>;
}

// The roles are written out because a table that a phone shows as cards loses them.
function TableRow<Row>({ row, columns, index, measure }: RowProps<Row>) {
  return (
    <tr role="row" ref={measure ?? null} data-index={index} aria-rowindex={index + 2}>
      {columns.map((column) => (
        <td
          key={column.id}
          role="cell"
          data-label={column.isLabelHidden ? "" : column.label}
          className={joinClasses(column.align === "end" && styles["end"])}
        >
          {column.cell(row)}
        </td>
      ))}
    </tr>
  );
}

function Spacer({ height, width }: { height: number; width: number }) {
  if (height <= 0) return null;
  return (
    <tr className={styles["spacer"]} aria-hidden="true">
      <td colSpan={width} style={{ height }} />
    </tr>
  );
}

function WindowedRows<Row>({ rows, columns, rowKey, top }: TableProps<Row> & { top: number }) {
  const virtualizer = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
    scrollMargin: top,
    // A row of a tab that is not shown has no height; without one all rows would be near the screen.
    measureElement: (row) => row.getBoundingClientRect().height || ROW_HEIGHT,
    getItemKey: (index) => {
      const row = rows[index];
      return row === undefined ? index : rowKey(row);
    },
  });
  const items = virtualizer.getVirtualItems();
  const { before, after } = spaceAround(items, virtualizer.getTotalSize(), top);
  return (
    <>
      <Spacer height={before} width={columns.length} />
      {items.map((item) => {
        const row = rows[item.index];
        if (row === undefined) return null;
        const measure = virtualizer.measureElement;
        return <TableRow key={item.key} row={row} columns={columns} index={item.index} measure={measure} />;
      })}
      <Spacer height={after} width={columns.length} />
    </>
  );
}

/** A table; with more than 100 rows only those near the screen are in the document. */
export function Table<Row>(props: TableProps<Row>) {
  const { name, columns, rows, rowKey } = props;
  const body = useRef<HTMLTableSectionElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const box = body.current?.getBoundingClientRect();
    if (box) setTop(box.top + window.scrollY);
  }, [rows.length]);
  return (
    <div className={styles["frame"]}>
      <table className={styles["table"]} role="table" aria-label={name} aria-rowcount={rows.length + 1}>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map((column) => (
              <th
                key={column.id}
                scope="col"
                role="columnheader"
                className={joinClasses(column.align === "end" && styles["end"])}
              >
                <span className={joinClasses(column.isLabelHidden && "visually-hidden")}>{column.label}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup" ref={body}>
          {rows.length > WINDOWED_ABOVE ? (
            <WindowedRows {...props} top={top} />
          ) : (
            rows.map((row, index) => <TableRow key={rowKey(row)} row={row} columns={columns} index={index} />)
          )}
        </tbody>
      </table>
    </div>
  );
}
