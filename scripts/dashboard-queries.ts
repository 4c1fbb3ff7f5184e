/** Builds the queries of the Grafana dashboard. Each query is limited by the variables of the dashboard. */

const RATE = '[$__rate_interval]';

/** Selects the processes of Berth in metrics with standard names, which other programs export too. */
const OF_BERTH = 'and on (cluster, instance) berth_build_info';

/** Limits a metric to the clusters and namespaces that are chosen at the top of the dashboard. */
function chosen(metric: string, labels = ['cluster', 'namespace']): string {
  const [, name, matchers] = /^(\w+)(?:\{(.*)\})?$/.exec(metric) ?? [];
  if (name === undefined)
    throw new Error(`failed to read the metric ${metric}; next: use NAME or NAME{MATCHERS}`);
  return `${name}{${[...(matchers ? [matchers] : []), ...labels.map((label) => `${label}=~"$${label}"`)].join(', ')}}`;
}

/** Whether only Berth exports metrics with this name. */
const isOwn = (metric: string) => /^(berth_|leader_election_master_status\{name="berth-)/.test(metric);
const ofBerth = (metric: string, expression: string) =>
  isOwn(metric) ? expression : `${expression} ${OF_BERTH}`;

/** The series of a metric, of all processes of Berth. */
export const series = (metric: string) => ofBerth(metric, chosen(metric));
export const rates = (metric: string, range = RATE) => ofBerth(metric, `rate(${chosen(metric)}${range})`);
const byLabels = (...labels: string[]) => {
  const names = labels.filter(Boolean).join(', ');
  return names === '' ? '' : ` by (${names})`;
};

export const rate = (by: string, metric: string) => `sum${byLabels(by)} (${rates(metric)})`;
export const quantile = (share: number, by: string, metric: string, range = RATE) =>
  `histogram_quantile(${share}, sum${byLabels('le', by)} (${rates(metric, range)}))`;
export const sum = (by: string, metric: string) => `sum${byLabels(by)} (${series(metric)})`;
export const max = (by: string, metric: string) => `max${byLabels(by)} (${series(metric)})`;
/** Seconds since the oldest of several times. */
export const age = (by: string, metric: string) => `time() - min${byLabels(by)} (${series(metric)})`;
/** A number from the database: every replica of a hub exports the same one. With several hubs, the sum of their numbers. */
export const ofHubs = (by: string, metric: string) =>
  `sum${byLabels(by)} (max${byLabels('cluster', 'namespace', by)} (${chosen(metric)}))`;
/** A metric of kube-state-metrics. Its label `namespace` is that of the deployment, which the variable does not choose. */
export const ofDeployments = (metric: string) => chosen(`berth_manageddeployment_${metric}`, ['cluster']);
