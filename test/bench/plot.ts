/** Small line plots as SVG, readable on light and dark pages. */

export interface Plot {
  /** Names the file: `<bench>-<name>.svg`. */
  readonly name: string;
  readonly title: string;
  readonly x: string;
  readonly y: string;
  readonly lines: readonly {
    readonly name: string;
    readonly points: readonly (readonly [number, number])[];
  }[];
}

const WIDTH = 720;
const HEIGHT = 360;
const MARGIN = { top: 40, right: 150, bottom: 50, left: 70 };
/** Told apart by those who do not see colours well, too. */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9'];
const TICKS = 5;
/** Points of a line that are drawn; more would be seen by nobody. */
const MOST_POINTS = 400;

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** Round steps from 0 to at least `most`. */
export function ticks(most: number): number[] {
  if (!(most > 0)) return [0, 1];
  const rough = most / TICKS;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * ([1, 2, 5, 10].find((factor) => factor * unit >= rough) ?? 10);
  const count = Math.ceil(most / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

function thinned<T>(points: readonly T[]): readonly T[] {
  const every = Math.ceil(points.length / MOST_POINTS);
  return every <= 1
    ? points
    : points.filter((_, index) => index % every === 0 || index === points.length - 1);
}

/** The plot as an SVG document. Both axes begin at 0: nothing looks steeper than it is. */
export function drawPlot(plot: Plot): string {
  const all = plot.lines.flatMap(({ points }) => points);
  const xs = ticks(Math.max(0, ...all.map(([x]) => x)));
  const ys = ticks(Math.max(0, ...all.map(([, y]) => y)));
  const inner = { width: WIDTH - MARGIN.left - MARGIN.right, height: HEIGHT - MARGIN.top - MARGIN.bottom };
  const toX = (x: number) => (MARGIN.left + (x / (xs.at(-1) ?? 1)) * inner.width).toFixed(1);
  const toY = (y: number) => (MARGIN.top + inner.height - (y / (ys.at(-1) ?? 1)) * inner.height).toFixed(1);
  const bottom = MARGIN.top + inner.height;
  const right = MARGIN.left + inner.width;
  const grid = [
    ...ys.map(
      (y) =>
        `<line x1="${MARGIN.left}" x2="${right}" y1="${toY(y)}" y2="${toY(y)}" class="grid"/><text x="${MARGIN.left - 8}" y="${toY(y)}" dy="4" text-anchor="end">${y}</text>`,
    ),
    ...xs.map((x) => `<text x="${toX(x)}" y="${bottom + 18}" text-anchor="middle">${x}</text>`),
  ];
  const lines = plot.lines.map(({ name, points }, index) => {
    const colour = COLOURS[index % COLOURS.length];
    const path = thinned(points).map(([x, y]) => `${toX(x)},${toY(y)}`);
    const label = MARGIN.top + 10 + index * 18;
    return `<polyline points="${path.join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/><text x="${right + 12}" y="${label}" style="fill:${colour}">${escaped(name)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" role="img">
<title>${escaped(plot.title)}</title>
<style>text{fill:#333}.grid{stroke:#888;stroke-opacity:.3}@media (prefers-color-scheme:dark){text{fill:#ccc}}</style>
<text x="${MARGIN.left}" y="22" font-size="14">${escaped(plot.title)}</text>
${grid.join('\n')}
${lines.join('\n')}
<text x="${MARGIN.left + inner.width / 2}" y="${HEIGHT - 10}" text-anchor="middle">${escaped(plot.x)}</text>
<text x="16" y="${MARGIN.top + inner.height / 2}" text-anchor="middle" transform="rotate(-90 16 ${MARGIN.top + inner.height / 2})">${escaped(plot.y)}</text>
</svg>
`;
}
