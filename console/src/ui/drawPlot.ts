import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { labelWriter, WHOLE_STEPS } from "./plotScale";

export interface DrawnSeries {
  label: string;
  values: readonly (number | null)[];
  format: (value: number) => string;
}

const HEIGHT = 220;
const LEAST_WIDTH = 120;

/** Writes the values under the pointer into an element, as text. */
function readOut(target: HTMLElement, times: readonly number[], series: readonly DrawnSeries[]) {
  const write = labelWriter(times);
  return (plot: uPlot) => {
    const at = plot.cursor.idx ?? null;
    const time = at === null ? undefined : times[at];
    if (at === null || time === undefined) {
      target.textContent = "";
      return;
    }
    const parts = series.map(({ label, values, format }) => {
      const value = values[at];
      return `${label} ${value === undefined || value === null ? "none" : format(value)}`;
    });
    target.textContent = `${write(time)}: ${parts.join(" · ")}`;
  };
}

function axesOf(element: HTMLElement, times: readonly number[], series: readonly DrawnSeries[]): uPlot.Axis[] {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const look = { stroke: colour("--text-soft"), font: `12px ${colour("--font")}`, ticks: { show: false } };
  const write = labelWriter(times);
  const first = series[0];
  const isWhole = series.every(({ values }) => values.every((value) => value === null || Number.isInteger(value)));
  return [
    { ...look, grid: { show: false }, space: 70, size: 28, values: (_, splits) => splits.map(write) },
    {
      ...look,
      grid: { stroke: colour("--line"), width: 1 },
      ...(isWhole ? { incrs: WHOLE_STEPS } : {}),
      size: (_, values) => 18 + 7 * Math.max(2, ...(values ?? []).map((text) => text.length)),
      values: (_, splits) => splits.map((each) => (first ? first.format(each) : String(each))),
    },
  ];
}

/** Whether a value stands between gaps, where no line leads to it. */
const hasLonePoint = (values: readonly (number | null)[]): boolean =>
  values.some((value, at) => value !== null && (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null);

/**
 * Draws lines over time into an element, and the values under the pointer as text into another.
 * Returns what fits it to a new width and what removes it. A chunk of its own: `Plot` loads it.
 * Colours are read from the theme at each drawing.
 */
export function drawPlot(
  element: HTMLElement,
  readout: HTMLElement,
  times: readonly number[],
  series: readonly DrawnSeries[],
) {
  const style = getComputedStyle(element);
  const size = () => ({ width: Math.max(element.clientWidth, LEAST_WIDTH), height: HEIGHT });
  const plot = new uPlot(
    {
      ...size(),
      padding: [8, 12, 0, 0],
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, y: false },
      tzDate: (time) => uPlot.tzDate(new Date(time * 1000), "Etc/UTC"),
      scales: { x: { time: true }, y: { range: (_, _low, high) => [0, high > 0 ? high * 1.08 : 1] } },
      axes: axesOf(element, times, series),
      series: [
        {},
        ...series.map((each, index) => ({
          label: each.label,
          stroke: style.getPropertyValue(`--plot-${index + 1}`).trim(),
          width: 2,
          points: { show: times.length < 3 || hasLonePoint(each.values), size: 6 },
          spanGaps: false,
        })),
      ],
      hooks: { setCursor: [readOut(readout, times, series)] },
    },
    [[...times], ...series.map((each) => [...each.values])],
    element,
  );
  return {
    resize: () => plot.setSize(size()),
    remove: () => {
      plot.destroy();
      readout.textContent = "";
    },
  };
}
