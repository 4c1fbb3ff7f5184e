/** Generates manifests/monitoring/berth-dashboard.json: the Grafana dashboard, with one row for each part of Berth. */

import { ROWS } from './dashboard-panels.ts';

const DATASOURCE = { type: 'prometheus', uid: '$datasource' };
const WIDTH = 24;
const SIZES = { stat: { w: 6, h: 4 }, timeseries: { w: 8, h: 8 } } as const;

/** Places panels from left to right. Starts a new line when a panel does not fit. */
function placed(): object[] {
  let [x, y, line, id] = [0, 0, 0, 0];
  const place = (w: number, h: number) => {
    if (x + w > WIDTH || (line > 0 && h !== line)) [x, y, line] = [0, y + line, 0];
    const gridPos = { x, y, w, h };
    [x, line] = [x + w, h];
    id += 1;
    return { id, gridPos };
  };
  return ROWS.flatMap(([title, panels]) => [
    { type: 'row', title, collapsed: false, panels: [], ...place(WIDTH, 1) },
    ...panels.map((panel) => {
      const type = panel.stat === undefined ? 'timeseries' : 'stat';
      return {
        type,
        title: panel.title,
        datasource: DATASOURCE,
        fieldConfig: { defaults: { unit: panel.unit, min: 0 }, overrides: [] },
        targets: panel.queries.map(({ expr, legend }, index) => ({
          refId: String.fromCharCode(65 + index),
          datasource: DATASOURCE,
          expr,
          legendFormat: legend,
        })),
        ...place(SIZES[type].w, SIZES[type].h),
      };
    }),
  ]);
}

/**
 * A variable with the values of a label of Berth's processes. Several values can be chosen. "All" is `.*`, which also selects
 * metrics without the label.
 */
const variable = (name: string, label: string, metric: string) => ({
  name,
  label,
  type: 'query',
  datasource: DATASOURCE,
  query: { query: `label_values(${metric}, ${name})`, refId: name },
  refresh: 2,
  sort: 1,
  multi: true,
  includeAll: true,
  allValue: '.*',
  current: { text: ['All'], value: ['$__all'] },
});

/** The text of the file. */
export function dashboard(): string {
  const board = {
    uid: 'berth',
    title: 'Berth',
    tags: ['berth'],
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
        variable('cluster', 'Cluster', 'berth_build_info'),
        variable('namespace', 'Namespace of Berth', 'berth_build_info{cluster=~"$cluster"}'),
      ],
    },
    panels: placed(),
  };
  return `${JSON.stringify(board, null, 2)}\n`;
}
