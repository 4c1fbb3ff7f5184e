/** docs/metrics.md, made from the metrics themselves. */
import { createMetrics } from '../src/metrics/metrics.ts';
import { tracingMetrics } from '../src/tracing/metrics.ts';

/** A metric as it was registered. */
interface Described {
  readonly name: string;
  readonly help: string;
  readonly kind: string;
  readonly labels: readonly string[];
}

const HEAD = `# Metrics
Each process tells Prometheus its metrics on a port of its own (\`BERTH_METRICS_PORT\`, 9090), at \`/metrics\`, with
\`/healthz\` and \`/readyz\` beside it. Nobody has to authenticate there: the port is for the cluster's inside.

Names, kinds and labels below are made from the sources by \`npm run docs\`. Labels are bounded: routes are templates,
statuses classes, reasons the closed list of [lifecycle.md](lifecycle.md). No id or name of a tenant is in them; ids of
listeners are told of the platform's own, fifty at most: those in trouble first.

What is read from the database (deployments, listeners, due work) is the same at every replica of the API: take the
\`max\` over them, not the sum. It is read when Prometheus asks, at most every 15 seconds, in three statements. While the
database does not answer, these metrics are not told at all.

A dashboard for Grafana is \`manifests/monitoring/berth-dashboard.json\`; the alert rules are
\`manifests/monitoring/berth-alerts.yaml\`, each with a page in [runbooks/](runbooks/README.md). Following one change
through the logs and traces: [observability.md](observability.md).

The chart brings them along, off unless asked for: \`metrics.podMonitor.enabled\` and \`metrics.prometheusRule.enabled\` for the
Prometheus operator (\`labels\` are those that it looks for), \`metrics.annotations\` for a Prometheus that goes by
\`prometheus.io/scrape\`, \`metrics.dashboard.enabled\` for Grafana's sidecar. Of the rules it takes the group \`berth-hub\` only where it
runs the API, and \`berth-operator\` only where it runs the operator. Every pod of the cluster may read the port;
\`networkPolicies.metricsClients\` narrows that to Prometheus: peers as in a NetworkPolicy.

`;

/** Every metric of every role, but those of Node.js and the process, which prom-client makes. */
export function describeMetrics(): Described[] {
  const metrics = createMetrics({ version: '', role: '' });
  metrics.hub();
  metrics.cluster();
  tracingMetrics(metrics.registry, { platform: undefined as never });
  return metrics.registry
    .getMetricsAsArray()
    .map((metric) => {
      const { name, help, labelNames } = metric as unknown as Described & { labelNames: string[] };
      const kind = metric.constructor.name.toLowerCase();
      return { name, help, kind, labels: labelNames.filter((label) => label !== 'le') };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

const SECTIONS: readonly (readonly [title: string, prefix: RegExp])[] = [
  ['Every process', /^berth_build_info$/],
  ['Hub: requests', /^berth_http_/],
  ['Hub: deployments, rollouts, builds', /^berth_(deployment|tenants_|rollout|build_|builds_)/],
  ['Hub: listeners, work, reports', /^berth_(listener|work_|reports_)/],
  ['Hub: database', /^berth_database_/],
  ['Hub: pushes and the tracing backend', /^berth_(webhook|branch|tracing)_/],
  ['Operator and listener', /^berth_(leading|queue_|reconcile|operator_|watch_|kube_)/],
];

function row({ name, kind, labels, help }: Described): string {
  return `| \`${name}\` | ${kind} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help.replaceAll('|', '\\|')} |`;
}

/** The page's text. @throws Error when a metric is in no section */
export function metricsDoc(): string {
  const all = describeMetrics();
  const ours = all.filter(({ name }) => name.startsWith('berth_'));
  const section = ({ name }: Described) => SECTIONS.find(([, prefix]) => prefix.test(name))?.[0];
  const lost = ours.find((metric) => section(metric) === undefined);
  if (lost !== undefined) throw new Error(`failed to describe ${lost.name}: it is in no section`);
  const sections = SECTIONS.map(([title]) =>
    [
      `## ${title}`,
      '| metric | kind | labels | what it tells |',
      '| --- | --- | --- | --- |',
      ...ours.filter((metric) => section(metric) === title).map(row),
      '',
    ].join('\n'),
  );
  const others = all.length - ours.length;
  return `${HEAD}${sections.join('\n')}\n## Node.js and the process\n${others} metrics of prom-client, as \`process_cpu_seconds_total\`, \`process_resident_memory_bytes\`, \`nodejs_eventloop_lag_p99_seconds\`,\n\`nodejs_heap_size_used_bytes\`, \`nodejs_gc_duration_seconds\`.\nThe event loop is looked at each 50 ms, and that time is in its lag: 0.05 is none.\n`;
}
