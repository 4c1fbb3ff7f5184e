/** Alert rules, their runbooks and the dashboard, as Prometheus reads them. No Berth runs. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { describeMetrics } from '../../../scripts/metrics-doc.ts';
import { REASONS } from '../../../src/domain/conditions/conditions.ts';
import { FIRST_TIME_MS } from '../../cluster/images/tools.ts';
import { resolvePromtool } from '../../cluster/promtool.ts';
import {
  ALERT_CASE_FILES,
  ALERTS,
  dashboard,
  namesIn,
  queriesOf,
  ROOT,
  rules,
  runbookQueries,
  runbooks,
  stateMetrics,
} from '../harness/monitoring-files.ts';

/** Every name that a query may use. */
const known = new Set([
  ...describeMetrics().flatMap(({ name, kind }) =>
    kind === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  ),
  ...stateMetrics,
]);

let promtool: string;
beforeAll(async () => {
  promtool = await resolvePromtool();
}, FIRST_TIME_MS);

/** Whether Prometheus can read each of the expressions. */
async function expectReadable(expressions: readonly string[]): Promise<void> {
  const asRules = expressions.map((expr, index) => ({ record: `query:${index}`, expr }));
  const checked = promisify(execFile)(promtool, ['check', 'rules'], { cwd: ROOT });
  checked.child.stdin?.end(JSON.stringify({ groups: [{ name: 'queries', rules: asRules }] }));
  expect((await checked).stdout).toContain(`${expressions.length} rules found`);
}

describe('the dashboard', () => {
  test('has the expected rows, variables for the data source and the installation, and unique panel ids', () => {
    expect(dashboard.templating.list).toEqual([
      expect.objectContaining({ name: 'datasource', type: 'datasource' }),
      expect.objectContaining({ name: 'cluster', type: 'query', includeAll: true, allValue: '.*' }),
      expect.objectContaining({ name: 'namespace', type: 'query', includeAll: true, allValue: '.*' }),
    ]);
    const rows = dashboard.panels.filter(({ type }) => type === 'row').map(({ title }) => title);
    expect(rows).toEqual([
      'Service',
      'Rollouts',
      'Deployments of a cluster',
      'Operator',
      'Listener',
      'Database',
      'Builds',
    ]);
    expect(new Set(dashboard.panels.map(({ id: panel }) => panel)).size).toBe(dashboard.panels.length);
  });

  test('contains only queries of existing metrics, which Prometheus can parse', async () => {
    expect(
      queriesOf(dashboard)
        .flatMap(namesIn)
        .filter((name) => !known.has(name)),
    ).toEqual([]);
    await expectReadable(queriesOf(dashboard));
  });

  test('shows only the installations that the variables choose, and adds the numbers of several hubs', () => {
    for (const query of queriesOf(dashboard)) {
      // `berth_build_info` on the right side of `and` only selects the processes of Berth.
      const own = query.replaceAll('and on (cluster, instance) berth_build_info', '');
      const chosen = own.match(/\{[^}]*cluster=~"\$cluster"[^}]*\}/g) ?? [];
      expect(chosen.length, query).toBe(namesIn(own).length);
      // kube-state-metrics has the namespace of the deployment.
      if (!query.includes('berth_manageddeployment_'))
        for (const matchers of chosen) expect(matchers, query).toContain('namespace=~"$namespace"');
      expect(query).not.toMatch(
        /\bmax( by \((?!cluster, namespace)[^)]*\))? \(berth_(deployments|tenants|listeners|work)/,
      );
    }
  });
});

describe('the alerts', () => {
  test('distinguish clusters and namespaces, so that an installation does not hide another one', () => {
    const grouped = rules.filter(({ expr }) => /\b(sum|max|min|count)\b/.test(expr));
    expect(grouped.length).toBeGreaterThan(15);
    for (const { alert, expr } of grouped) {
      const withoutAbsent = expr.replaceAll(/\babsent\(.*\)/g, '');
      expect(withoutAbsent, alert).not.toMatch(/\b(sum|max|min|count)\s*\(/);
      for (const [, labels = ''] of expr.matchAll(/\bby \(([^)]*)\)/g))
        expect(labels.split(', '), alert).toEqual(expect.arrayContaining(['cluster', 'namespace']));
    }
  });

  test('have a severity, a duration, and a runbook with meaning, impact, diagnosis and mitigation', () => {
    const pages = [...runbooks.keys()].filter((name) => name !== 'README');
    expect(pages.sort()).toEqual(rules.map(({ alert }) => alert).sort());
    for (const { alert, labels, annotations, for: wait } of rules) {
      expect(['critical', 'warning'], alert).toContain(labels.severity);
      expect(wait, alert).toMatch(/^\d+m$/);
      expect(annotations.runbook_url).toBe(`docs/runbooks/${alert}.md`);
      expect(runbooks.get(alert)?.match(/^#+ .*/gm), alert).toEqual([
        `# ${alert}`,
        '## Meaning',
        '## Impact',
        '## Diagnosis',
        '## Mitigation',
      ]);
      expect(runbooks.get('README')).toContain(`[${alert}](${alert}.md)`);
    }
  });

  test('use existing metrics only, and reasons that conditions may have', () => {
    expect(rules.flatMap(({ expr }) => namesIn(expr)).filter((name) => !known.has(name))).toEqual([]);
    const notReady = rules.find(({ alert }) => alert === 'BerthDeploymentNotReady');
    const [, reasons = ''] = /reason=~"([^"]+)"/.exec(notReady?.expr ?? '') ?? [];
    expect(reasons.split('|').filter((reason) => !Object.hasOwn(REASONS, reason))).toEqual([]);
  });

  test('are valid for Prometheus, and fire exactly in the cases of their unit tests', async () => {
    const run = (...args: string[]) => promisify(execFile)(promtool, args, { cwd: ROOT });
    expect((await run('check', 'rules', ALERTS)).stdout).toContain(`${rules.length} rules found`);
    const { stdout } = await run('test', 'rules', ...ALERT_CASE_FILES);
    expect(stdout.match(/SUCCESS/g)).toHaveLength(ALERT_CASE_FILES.length);
  });

  test('have one case each that fires and one that does not, and none fires on a healthy installation', () => {
    const tests = ALERT_CASE_FILES.flatMap(
      (file) =>
        (
          parse(readFileSync(file, 'utf8')) as {
            tests: { name: string; alert_rule_test: { alertname: string; exp_alerts: object[] }[] }[];
          }
        ).tests,
    );
    const names = (is: (count: number) => boolean, some = tests) =>
      new Set(
        some.flatMap(({ alert_rule_test: cases }) =>
          cases.filter(({ exp_alerts: alerts }) => is(alerts.length)).map(({ alertname }) => alertname),
        ),
      );
    const all = new Set(rules.map(({ alert }) => alert));
    const well = tests.filter(({ name }) => name === 'nothing alerts while all is well');
    const others = tests.filter((one) => !well.includes(one));
    expect(names((count) => count > 0)).toEqual(all);
    expect(names((count) => count === 0, well)).toEqual(all);
    expect(names((count) => count === 0, others)).toEqual(all);
  });

  test('have runbooks whose queries of metrics with standard names select only the processes of Berth', () => {
    const queries = runbookQueries().filter((query) =>
      namesIn(query).some((name) => !name.startsWith('berth_')),
    );
    expect(queries.length).toBeGreaterThan(5);
    for (const query of queries) expect(query).toMatch(/ and on \(cluster, instance\) berth_build_info/);
  });

  test('have runbooks with valid queries of existing metrics', async () => {
    const queries = runbookQueries();
    expect(queries.length).toBeGreaterThan(10);
    expect(queries.flatMap(namesIn).filter((name) => !known.has(name))).toEqual([]);
    await expectReadable(queries);
  });
});
