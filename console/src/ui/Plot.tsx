import { useEffect, useRef, useState } from "react";
import { joinClasses } from "./joinClasses";
import styles from "./Plot.module.css";
import { areDays, labelWriter } from "./plotScale";
import { Table } from "./Table";

export interface Series {
  label: string;
  /** Positions on the plot; null leaves a gap. An amount becomes a number here and only here. */
  values: readonly (number | null)[];
  /** Writes a position at the axis, such as an amount with its code. */
  format: (value: number) => string;
  /** The exact texts for the table; without them the positions are written. */
  texts?: readonly string[];
}

interface PlotProps {
  /** What is plotted, for screen readers. */
  name: string;
  /** Seconds since 1970. */
  times: readonly number[];
  series: readonly Series[];
}

/** Lines over time, at most three, and the same as a table. uPlot is loaded when one is shown. */
export function Plot({ name, times, series }: PlotProps) {
  const element = useRef<HTMLDivElement>(null);
  const readout = useRef<HTMLParagraphElement>(null);
  const [isFailed, setFailed] = useState(false);
  useEffect(() => {
    const target = element.current;
    const text = readout.current;
    if (!target || !text) return undefined;
    let isGone = false;
    let drawn: { resize: () => void; remove: () => void } | undefined;
    let redraw = () => {};
    import("./drawPlot")
      .then(({ drawPlot }) => {
        redraw = () => {
          drawn?.remove();
          drawn = isGone ? undefined : drawPlot(target, text, times, series);
        };
        redraw();
      })
      .catch(() => setFailed(true));
    const sizes = new ResizeObserver(() => drawn?.resize());
    sizes.observe(target);
    const theme = new MutationObserver(() => redraw());
    theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    const system = window.matchMedia("(prefers-color-scheme: dark)");
    const onSystem = () => redraw();
    system.addEventListener("change", onSystem);
    return () => {
      isGone = true;
      sizes.disconnect();
      theme.disconnect();
      system.removeEventListener("change", onSystem);
      drawn?.remove();
    };
  }, [times, series]);
  const write = labelWriter(times);
  const rows = times.map((time, index) => ({ time, index }));
  return (
    <figure className={styles["plot"]} aria-label={name}>
      {series.length > 1 && (
        <div className={styles["legend"]} aria-hidden="true">
          {series.map((each, index) => (
            <span key={each.label} className={joinClasses(styles["key"], styles[`key${index + 1}`])}>
              {each.label}
            </span>
          ))}
        </div>
      )}
      {isFailed ? (
        <p className="soft">The plot could not be loaded. The table has the same figures.</p>
      ) : (
        <div aria-hidden="true">
          <div className={styles["canvas"]} ref={element} />
          <p className={styles["readout"]} ref={readout} />
        </div>
      )}
      <details open={isFailed}>
        <summary className={styles["summary"]}>Show as a table</summary>
        <div className={styles["table"]}>
          <Table
            name={name}
            rows={rows}
            rowKey={(row) => String(row.time)}
            columns={[
              { id: "time", label: areDays(times) ? "Day (UTC)" : "Time", cell: (row) => write(row.time) },
              ...series.map((each) => ({
                id: each.label,
                label: each.label,
                align: "end" as const,
                cell: (row: { index: number }) => {
                  const value = each.values[row.index];
                  return each.texts?.[row.index] ?? (value === undefined || value === null ? "none" : each.format(value));
                },
              })),
            ]}
          />
        </div>
      </details>
    </figure>
  );
}
