import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export interface DrawnSeries {
  label: string;
  values: readonly (number | null)[];
  format: (value: number) => string;
}

const DAY = 86_400;

/**
 * Draws lines over time into an element and returns what redraws and removes them. A chunk of its
 * own: `Plot` loads it. Colours are read from the theme at each drawing.
 */
export function drawPlot(element: HTMLElement, times: readonly number[], series: readonly DrawnSeries[]) {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour("--text-soft"),
    font: `12px ${colour("--font")}`,
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  const first = series[0];
  const plot = new uPlot(
    {
      width: Math.max(element.clientWidth, 120),
      height: 220,
      legend: { show: false },
      cursor: { drag: { x: false, y: false } },
      scales: { x: { time: true }, y: { range: (_, _low, high) => [0, high > 0 ? high * 1.1 : 1] } },
      axes: [
        { ...axis, incrs: [3600, 6 * 3600, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY] },
        {
          ...axis,
          size: 78,
          values: (_, splits) => splits.map((each) => (first ? first.format(each) : String(each))),
        },
      ],
      series: [
        {},
        ...series.map((each, index) => ({
          label: each.label,
          stroke: colour(`--plot-${index + 1}`),
          width: 2,
          // a value between two gaps has no line
          points: { show: times.length < 3 || each.values.includes(null), size: 6 },
          spanGaps: false,
        })),
      ],
    },
    [[...times], ...series.map((each) => [...each.values])],
    element,
  );
  return {
    resize: () => plot.setSize({ width: Math.max(element.clientWidth, 120), height: 220 }),
    remove: () => plot.destroy(),
  };
}
