import type { TopLevelSpec } from "vega-lite";
import type { BenchRow, Series } from "./measure.js";

/** Lines with labelled axes as an SVG picture: a panel for each pair of labels, one below the other. */
export async function drawPlot(title: string, series: readonly Series[]): Promise<string> {
  return draw({
    ...LOOK,
    title: { text: title, anchor: "start" },
    vconcat: panelsOf(series).map((lines) => panelOf(lines)),
    resolve: { scale: { color: "independent" } },
  });
}

/** A bar that is longer ends here. */
const LONGEST_BAR = 3;

/** How far each target is met, as an SVG picture: a bar that ends left of 1 meets its target. */
export async function drawVerdicts(rows: readonly BenchRow[]): Promise<string> {
  const values = rows.flatMap(({ what, ratio, target, better }) => {
    if (target === null) return [];
    const share = better === "higher" ? target / ratio : ratio / target;
    const verdict = share <= 1 ? "meets" : "misses";
    return [{ what, share: Math.max(0, Math.min(share, LONGEST_BAR)), verdict }];
  });
  const y = { field: "what", type: "nominal", title: null, sort: null } as const;
  const color = {
    field: "verdict",
    type: "nominal",
    title: null,
    scale: { domain: ["meets", "misses"], range: ["#2a7f62", "#c8553d"] },
  } as const;
  return draw({
    ...LOOK,
    width: WIDTH,
    data: { values },
    layer: [
      {
        mark: "bar",
        encoding: {
          y: { ...y, axis: { labelLimit: WIDTH } },
          x: { field: "share", type: "quantitative", title: "measured / limit; 1 is the limit" },
          color,
        },
      },
      { mark: { type: "rule", strokeDash: [4, 3] }, encoding: { x: { datum: 1 } } },
    ],
  });
}

const LOOK = {
  $schema: "https://vega.github.io/schema/vega-lite/v6.json",
  background: "white",
  padding: 12,
  config: { axis: { labelFontSize: 12, titleFontSize: 12 }, legend: { labelFontSize: 12 } },
} as const;

async function draw(picture: TopLevelSpec): Promise<string> {
  const [vega, { compile }] = await Promise.all([import("vega"), import("vega-lite")]);
  const { spec } = compile(picture);
  const view = new vega.View(vega.parse(spec), { renderer: "none" });
  try {
    return await view.toSVG();
  } finally {
    view.finalize();
  }
}

/** Lines of one pair of labels together, in the order of their first appearance. */
function panelsOf(series: readonly Series[]): (readonly Series[])[] {
  const panels = new Map<string, Series[]>();
  for (const line of series) {
    const key = `${line.xLabel}\n${line.yLabel}`;
    panels.set(key, [...(panels.get(key) ?? []), line]);
  }
  return [...panels.values()];
}

const WIDTH = 640;
const HEIGHT = 280;
/** More points than this are drawn without a dot each. */
const MOST_DOTS = 60;

function panelOf(lines: readonly Series[]) {
  const [{ xLabel, yLabel } = { xLabel: "", yLabel: "" }] = lines;
  const values = lines.flatMap(({ name, points }) =>
    points.map(([x, y], order) => ({ name, x, y, order })),
  );
  return {
    width: WIDTH,
    height: HEIGHT,
    data: { values },
    mark: { type: "line", point: values.length <= MOST_DOTS * lines.length },
    encoding: {
      x: { field: "x", type: "quantitative", title: xLabel, scale: { zero: false, nice: true } },
      y: { field: "y", type: "quantitative", title: yLabel },
      color: { field: "name", type: "nominal", title: null, sort: lines.map(({ name }) => name) },
      order: { field: "order", type: "quantitative" },
    },
  } as const;
}
