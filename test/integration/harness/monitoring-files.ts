/** The files that a platform team watches Berth with: alert rules, dashboard, runbooks; and what they ask Prometheus. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

/** Folder of the repository. */
export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
export const ALERTS = join(ROOT, 'manifests/monitoring/berth-alerts.yaml');
const ALERT_CASES = join(ROOT, 'test/alerts');
/** Files with cases for `promtool test rules`. */
export const ALERT_CASE_FILES = readdirSync(ALERT_CASES).map((file) => join(ALERT_CASES, file));
const RUNBOOKS = join(ROOT, 'docs/runbooks');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: Readonly<Record<'summary' | 'description' | 'runbook_url', string>>;
}

export const rules = (
  parse(readFileSync(ALERTS, 'utf8')) as { groups: readonly { rules: readonly Rule[] }[] }
).groups.flatMap((group) => group.rules);

interface PanelFile {
  readonly panels: readonly {
    readonly id: number;
    readonly type: string;
    readonly title: string;
    readonly targets?: readonly { readonly expr: string }[];
  }[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] };
}

export const dashboard = JSON.parse(
  readFileSync(join(ROOT, 'manifests/monitoring/berth-dashboard.json'), 'utf8'),
) as PanelFile;

/** As Grafana would ask them. */
export const queriesOf = ({ panels }: PanelFile): string[] =>
  panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '5m')));

/** Text of each page by its name; README is the index. */
export const runbooks: ReadonlyMap<string, string> = new Map(
  readdirSync(RUNBOOKS).map((file) => [basename(file, '.md'), readFileSync(join(RUNBOOKS, file), 'utf8')]),
);

/** The configuration of kube-state-metrics, and the rights that it needs. */
export const STATE_METRICS = join(ROOT, 'manifests/monitoring/berth-kube-state-metrics.yaml');
export const STATE_METRICS_RIGHTS = join(ROOT, 'manifests/monitoring/berth-kube-state-metrics-rbac.yaml');

interface StateMetrics {
  readonly spec: {
    readonly resources: readonly {
      readonly metricNamePrefix: string;
      readonly metrics: readonly { readonly name: string; readonly help: string }[];
    }[];
  };
}

/** Names of the metrics that kube-state-metrics exports with the configuration. */
export const stateMetrics: readonly string[] = (
  parse(readFileSync(STATE_METRICS, 'utf8')) as StateMetrics
).spec.resources.flatMap(({ metricNamePrefix, metrics }) =>
  metrics.map(({ name }) => `${metricNamePrefix}_${name}`),
);

const KEYWORDS = new Set(['and', 'or', 'unless', 'bool', 'offset', 'inf', 'nan']);
/** Lists of labels, which are no metrics. */
const LABEL_LISTS = /\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g;

/** Metrics that an expression of PromQL names: identifiers that are not functions, keywords, labels or strings. */
export const namesIn = (expression: string): string[] =>
  (
    expression
      .replaceAll(/"(\\.|[^"\\])*"/g, '')
      .replaceAll(/\{[^}]*\}|\[[^\]]*\]/g, '')
      .replaceAll(LABEL_LISTS, '')
      .match(/\b[a-zA-Z_:][a-zA-Z0-9_:]*\b(?!\s*\()/g) ?? []
  ).filter((name) => !KEYWORDS.has(name));

/** A name of a metric of Berth in a text. */
const METRIC =
  /\b(berth|nodejs|process|workqueue|controller_runtime|rest_client|leader_election|http_request)_[a-z0-9_]+/;

/** Queries in the sentences of runbooks: code that names a metric. */
export const runbookQueries = (): string[] =>
  [...runbooks.values()]
    .flatMap((text) => text.replaceAll(/^```[\s\S]*?^```/gm, '').match(/`[^`\n]+`/g) ?? [])
    .map((code) => code.slice(1, -1))
    .filter((code) => METRIC.test(code));
