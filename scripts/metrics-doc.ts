/** Generates docs/metrics.md from the registered metrics. */

import { tracingMetrics } from '../src/hub/tracing/metrics.ts';
import { createMetrics } from '../src/metrics/metrics.ts';

/** A registered metric. */
interface Described {
  readonly name: string;
  readonly help: string;
  readonly kind: string;
  readonly labels: readonly string[];
}

const HEAD = `# Metrics
Each process serves its metrics for Prometheus at \`/metrics\`, on a separate port (\`BERTH_METRICS_PORT\`, 9090). The same port serves
\`/healthz\` and \`/readyz\`. The port needs no authentication, so keep it inside the cluster.

\`npm run docs\` generates the names, kinds and labels below. The label values are bounded: routes are templates, statuses are classes, and
reasons come from the list in [lifecycle.md](lifecycle.md). No label holds an id or a name of a tenant. Listener ids appear only for the
platform's own listeners, at most fifty: those whose lease expires first.

Every API replica reports the same numbers for deployments, listeners and due work: use \`max\`, not \`sum\`. A replica reads these numbers from the database when Prometheus scrapes it, at most every 15 seconds, in three statements. While the database does not respond, these
metrics are absent.

\`manifests/monitoring/berth-dashboard.json\` is a Grafana dashboard. \`manifests/monitoring/berth-alerts.yaml\` has the alert rules, each with a
page in [runbooks/](runbooks/README.md). To follow one change through logs and traces, see [observability.md](observability.md).

The chart can install the dashboard, the alert rules, and the objects by which Prometheus finds the pods. All of them are off by default: \`metrics.podMonitor.enabled\` and \`metrics.prometheusRule.enabled\` for the Prometheus
operator (with the \`labels\` that it selects), \`metrics.annotations\` for a Prometheus that uses \`prometheus.io/scrape\`, and
\`metrics.dashboard.enabled\` for the sidecar of Grafana. The chart includes the rule group \`berth-hub\` only where it runs the API, and
\`berth-operator\` only where it runs the operator. Every pod of the cluster can read the port. To allow only Prometheus, set
\`networkPolicies.metricsClients\` to peers as in a NetworkPolicy.

`;

/** Every metric of every role. The page lists the metrics of Node.js and the process, which come from prom-client, separately. */
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

/** The text of the page. @throws Error if a metric belongs to no section */
export function metricsDoc(): string {
  const all = describeMetrics();
  const ours = all.filter(({ name }) => name.startsWith('berth_'));
  const section = ({ name }: Described) => SECTIONS.find(([, prefix]) => prefix.test(name))?.[0];
  const unassigned = ours.find((metric) => section(metric) === undefined);
  if (unassigned !== undefined) throw new Error(`failed to describe ${unassigned.name}: it is in no section`);
  const sections = SECTIONS.map(([title]) =>
    [
      `## ${title}`,
      '| metric | kind | labels | meaning |',
      '| --- | --- | --- | --- |',
      ...ours.filter((metric) => section(metric) === title).map(row),
      '',
    ].join('\n'),
  );
  const others = all.length - ours.length;
  return `${HEAD}${sections.join('\n')}\n## Node.js and the process\n${others} metrics of prom-client, such as \`process_cpu_seconds_total\`, \`process_resident_memory_bytes\`, \`nodejs_eventloop_lag_p99_seconds\`,\n\`nodejs_heap_size_used_bytes\`, \`nodejs_gc_duration_seconds\`.\nThe event loop is sampled every 50 ms, and the lag includes this interval: 0.05 means no lag.\n`;
}
