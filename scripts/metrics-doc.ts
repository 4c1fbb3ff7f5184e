/** Generates docs/metrics.md from the registered metrics. */

import { tracingMetrics } from '../src/hub/tracing/metrics.ts';
import { createMetrics } from '../src/metrics/metrics.ts';
import { cell } from './markdown.ts';
import { stateMetricsDoc } from './state-metrics-doc.ts';

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

\`npm run docs\` generates the names, kinds and labels below. Berth's own metrics start with \`berth_\`. The others have the names,
labels and label values of client-go, controller-runtime and common HTTP servers, so that existing dashboards show Berth
([decision 0085](decisions/0085-standard-metric-names.md)). Other programs have metrics of the same names. To select the processes
of Berth, use \`and on (cluster, instance) berth_build_info\`.

The label values are bounded: routes are templates, and reasons come from the list in [lifecycle.md](lifecycle.md). No label of
Berth's processes holds an id or a name of a tenant. Only the [metrics of deployments](#deployments-of-a-cluster), which
kube-state-metrics exports, have such labels. Listener ids appear only for the platform's own listeners, at most fifty: those whose lease expires first.

Times of Berth's own metrics are Unix timestamps (\`…_timestamp_seconds\`), not ages or countdowns. \`time() - …\` gives the age, also between two scrapes.

Every API replica of an installation reports the same numbers for deployments, listeners and due work: use \`max by (cluster,
namespace)\` (of timestamps of waiting work: \`min\`), not \`sum\`. A replica reads these numbers from the database when Prometheus
scrapes it, at most every 15 seconds, in three statements. While the database does not respond, these metrics are absent.

One Prometheus can scrape several installations of Berth if the labels \`cluster\` and \`namespace\` of the targets distinguish them. The
Prometheus operator adds \`namespace\`. The alert rules group by both labels, so that an installation does not hide the failure of
another one. At the top of the dashboard, you choose clusters and namespaces. The dashboard adds the numbers of the installations
that you choose. The rules and the dashboard show every installation, so install them once for each Prometheus and Grafana, from a
release that runs the API and the operator. Grafana accepts only one dashboard with the same uid.

\`manifests/monitoring/berth-dashboard.json\` is a Grafana dashboard. \`manifests/monitoring/berth-alerts.yaml\` has the alert rules, each with a
page in [runbooks/](runbooks/README.md). To follow one change through logs and traces, see [observability.md](observability.md).

The chart can install the dashboard, the alert rules, and the objects by which Prometheus finds the pods. All of them are off by default:
- \`podMonitor.enabled\` or \`serviceMonitor.enabled\` (not both), for the Prometheus operator. A PodMonitor finds the pods themselves. A
  ServiceMonitor finds them through the headless Service \`FULLNAME-metrics\`, such as \`berth-metrics\` for the release \`berth\`, and
  \`two-berth-metrics\` for the release \`two\`. Both have \`labels\` (that your Prometheus selects), \`interval\`, \`scrapeTimeout\`,
  \`relabelings\` and \`metricRelabelings\`.
- \`metrics.prometheusRule.enabled\` for the Prometheus operator, with \`labels\`. The chart includes the rule group \`berth-hub\` only where
  it runs the API, and \`berth-operator\` only where it runs the operator.
- \`metrics.annotations\` for a Prometheus that uses \`prometheus.io/scrape\`.
- \`metrics.dashboard.enabled\` for the sidecar of Grafana.

Every pod of the cluster can read the port. To allow only Prometheus, set \`networkPolicies.metricsClients\` to peers as in a
NetworkPolicy. [install.md](install.md#metrics) lists the names of earlier versions.

`;

/** Every metric of every role, including those of Node.js and the process, which prom-client registers. */
export function describeMetrics(): Described[] {
  const metrics = createMetrics({ version: '', role: '' });
  metrics.hub().policy(() => false);
  metrics.hub().observer.streaming(() => 0);
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
  ['Hub: requests', /^((berth_)?http_|berth_change_streams$)/],
  ['Hub: deployments, rollouts, builds', /^berth_(deployment|tenants_|rollout|build_|builds_)/],
  ['Hub: listeners, work, reports', /^berth_(listener|work_|reports_)/],
  ['Hub: sign-in and policy', /^berth_(sign_ins_|policy_)/],
  ['Hub: database', /^berth_database_/],
  ['Hub: sign-in', /^berth_(workload_exchanges|device_logins)_/],
  ['Hub: pushes and the tracing backend', /^berth_(webhook|branch|tracing)_/],
  [
    'Operator and listener: leadership, calls and caches',
    /^(leader_|rest_client_|berth_(operator_|watch_|kube_))/,
  ],
  [
    'Operator and listener: controllers and queues',
    /^(controller_runtime_|workqueue_|berth_(workqueue|reconcile)_)/,
  ],
];

function row({ name, kind, labels, help }: Described): string {
  return `| \`${name}\` | ${kind} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${cell(help)} |`;
}

/** The text of the page. @throws Error if a metric belongs to no section */
export function metricsDoc(): string {
  const all = describeMetrics();
  const ours = all.filter(({ name }) => !/^(nodejs|process)_/.test(name));
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
  return `${HEAD}${sections.join('\n')}\n${stateMetricsDoc()}\n## Node.js and the process\n${others} metrics of prom-client, such as \`process_cpu_seconds_total\`, \`process_resident_memory_bytes\`, \`nodejs_eventloop_lag_p99_seconds\`,\n\`nodejs_heap_size_used_bytes\`, \`nodejs_gc_duration_seconds\`.\nThe event loop is sampled every 50 ms, and the lag includes this interval: 0.05 means no lag.\n`;
}
