/** The section of docs/metrics.md about the metrics of custom resources, made from the configuration of kube-state-metrics. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

const FILE = fileURLToPath(new URL('../manifests/monitoring/berth-kube-state-metrics.yaml', import.meta.url));

interface Labelled {
  readonly labelsFromPath?: Readonly<Record<string, unknown>>;
}
interface Resource extends Labelled {
  readonly metricNamePrefix: string;
  readonly metrics: readonly {
    readonly name: string;
    readonly help: string;
    readonly each: { readonly info?: Labelled; readonly gauge?: Labelled };
  }[];
}

const HEAD = `## Deployments of a cluster
kube-state-metrics (tested: version 2.20) exports these metrics of each \`ManagedDeployment\` of a cluster, with
\`manifests/monitoring/berth-kube-state-metrics.yaml\`. Unlike the metrics of Berth's processes, their labels contain names and ids of
deployments. Berth's alert BerthDeploymentNotReady and a row of the dashboard use them. With the chart of kube-state-metrics:

<!-- needs: a cluster -->
\`\`\`
kubectl apply -f manifests/monitoring/berth-kube-state-metrics-rbac.yaml
kubectl create clusterrolebinding berth-kube-state-metrics --clusterrole=berth-kube-state-metrics --serviceaccount=NAMESPACE:kube-state-metrics
(printf 'customResourceState:\\n  enabled: true\\n  config:\\n'; sed 's/^/    /' manifests/monitoring/berth-kube-state-metrics.yaml) > values-berth.yaml
helm upgrade kube-state-metrics CHART -n NAMESPACE --reuse-values -f values-berth.yaml
\`\`\`

Without the chart, mount the file and set \`--custom-resource-state-config-file\`. Scrape kube-state-metrics with \`honor_labels: true\`,
so that the label \`namespace\` is the namespace of the deployment.

`;

/** The text of the section. */
export function stateMetricsDoc(): string {
  const { spec } = parse(readFileSync(FILE, 'utf8')) as { spec: { resources: readonly Resource[] } };
  const rows = spec.resources.flatMap(({ metricNamePrefix, labelsFromPath: common = {}, metrics }) =>
    metrics.map(({ name, help, each }) => {
      const own = (each.info ?? each.gauge)?.labelsFromPath ?? {};
      const labels = Object.keys({ ...common, ...own }).map((label) => `\`${label}\``);
      return `| \`${metricNamePrefix}_${name}\` | ${labels.join(', ')} | ${help} |`;
    }),
  );
  return `${HEAD}${['| metric | labels | meaning |', '| --- | --- | --- |', ...rows].join('\n')}\n`;
}
