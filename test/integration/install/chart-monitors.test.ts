/** ServiceMonitor, PodMonitor and PrometheusRule of the chart, against the real definitions of the Prometheus operator. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { CHART } from '../../../scripts/manifests.ts';
import { FIRST_TIME_MS } from '../../cluster/images/tools.ts';
import { MONITORING_CRDS, monitoringCrds } from '../../cluster/monitoring-crds.ts';
import { helm } from '../../installation/helm.ts';
import { named, podsOf, type Rendered, render, set } from '../harness/chart.ts';
import { createNamespace, deleteNamespace, environment, kubectlAsAdmin } from '../harness/environment.ts';

const CLUSTER_LABEL = '[{"targetLabel": "cluster", "replacement": "east"}]';
const DROP = '[{"sourceLabels": ["__name__"], "regex": "nodejs_.*", "action": "drop"}]';

let namespace: string;
beforeAll(async () => {
  await kubectlAsAdmin(['apply', '--server-side', '-f', await monitoringCrds()]);
  const crds = MONITORING_CRDS.map((name) => `crd/${name}`);
  await kubectlAsAdmin(['wait', '--for=condition=Established', ...crds, '--timeout=60s']);
  namespace = await createNamespace('monitors');
}, FIRST_TIME_MS);
afterAll(async () => {
  await deleteNamespace(namespace);
  await kubectlAsAdmin(['delete', 'crd', ...MONITORING_CRDS, '--ignore-not-found', '--wait=false']);
});

const MONITORING = ['PodMonitor', 'ServiceMonitor', 'PrometheusRule'];
const monitoring = (objects: Rendered[]) => objects.filter(({ kind }) => MONITORING.includes(kind));

interface MonitorSpec {
  selector: { matchLabels: Record<string, string> };
  endpoints?: object[];
  podMetricsEndpoints?: object[];
}

function specOf(objects: Rendered[], kind: string): MonitorSpec {
  const monitor = named(objects, kind, 'berth');
  if (monitor === undefined) throw new Error(`failed to find the ${kind}`);
  return monitor.spec as unknown as MonitorSpec;
}

/** What the API server stores for the object; fails for a field that the definition does not have. */
async function stored({ metadata, ...rest }: Rendered): Promise<Rendered> {
  const object = { ...rest, metadata: { ...metadata, namespace } };
  const args = ['apply', '--server-side', '--dry-run=server', '--validate=strict', '-o', 'json', '-f', '-'];
  return JSON.parse(await kubectlAsAdmin(args, stringify(object))) as Rendered;
}

describe('the monitors of the chart', () => {
  test('are not rendered when they are not enabled', async () => {
    const objects = await render();
    expect(monitoring(objects)).toEqual([]);
    expect(named(objects, 'Service', 'berth-metrics')).toBeUndefined();
  });

  test.each(['podMonitor', 'serviceMonitor'])(
    'are stored as rendered when %s is enabled with all values',
    async (name) => {
      const objects = await render(
        `${name}.enabled=true`,
        `${name}.labels.release=prometheus`,
        `${name}.annotations.note=hello`,
        `${name}.interval=15s`,
        `${name}.scrapeTimeout=10s`,
        `${name}.relabelings[0].targetLabel=cluster`,
        `${name}.relabelings[0].replacement=east`,
        `${name}.metricRelabelings[0].sourceLabels[0]=__name__`,
        `${name}.metricRelabelings[0].regex=nodejs_.*`,
        `${name}.metricRelabelings[0].action=drop`,
        'metrics.prometheusRule.enabled=true',
      );
      const kind = name === 'podMonitor' ? 'PodMonitor' : 'ServiceMonitor';
      expect(
        monitoring(objects)
          .map((object) => object.kind)
          .sort(),
      ).toEqual([kind, 'PrometheusRule'].sort());
      for (const object of monitoring(objects)) {
        const { spec: kept } = await stored(object);
        // The definition adds defaults to relabelings and removes nothing.
        expect(kept).toMatchObject(object.spec as object);
      }
      const { labels, annotations } = named(objects, kind, 'berth')?.metadata ?? {};
      expect(labels).toMatchObject({ release: 'prometheus', 'app.kubernetes.io/name': 'berth' });
      expect(annotations).toEqual({ note: 'hello' });
      const { podMetricsEndpoints, endpoints = podMetricsEndpoints } = specOf(objects, kind);
      expect(endpoints).toEqual([
        {
          port: 'metrics',
          path: '/metrics',
          interval: '15s',
          scrapeTimeout: '10s',
          relabelings: JSON.parse(CLUSTER_LABEL),
          metricRelabelings: JSON.parse(DROP),
        },
      ]);
    },
  );

  test.each([
    ['ha', []],
    ['one pod', ['singlePod=true']],
  ] as const)('select every pod with a port of metrics: %s', async (_, values) => {
    const pods = podsOf(await render(...values)).filter(({ spec: { containers } }) =>
      containers.some(({ ports = [] }) => ports.some(({ name }) => name === 'metrics')),
    );
    expect(pods).toHaveLength(values.length === 0 ? 3 : 1);
    const byPod = specOf(await render(...values, 'podMonitor.enabled=true'), 'PodMonitor');
    const objects = await render(...values, 'serviceMonitor.enabled=true');
    const service = objects.find(({ metadata }) => metadata.name === 'berth-metrics');
    const selector = (service?.spec as unknown as { selector: object } | undefined)?.selector ?? {};
    expect(selector).toEqual({ 'app.kubernetes.io/name': 'berth' });
    for (const { metadata } of pods) {
      expect(metadata.labels).toMatchObject(byPod.selector.matchLabels);
      expect(metadata.labels).toMatchObject(selector);
    }
    const { matchLabels } = specOf(objects, 'ServiceMonitor').selector;
    const services = objects.filter(({ kind }) => kind === 'Service');
    const selected = services.filter(({ metadata: { labels = {} } }) =>
      Object.entries(matchLabels).every(([label, value]) => labels[label] === value),
    );
    // A pod that two Services select would be scraped twice.
    expect(selected.map(({ metadata }) => metadata.name)).toEqual(['berth-metrics']);
  });

  test('are rejected when both are enabled, and when a value has no such field', async () => {
    const template = (...values: string[]) =>
      helm(environment(), ['template', 'berth', CHART, ...set(values)]);
    const both = template('podMonitor.enabled=true', 'serviceMonitor.enabled=true');
    await expect(both).rejects.toThrow(/podMonitor and serviceMonitor are both enabled/);
    await expect(template('podMonitor.interval=often')).rejects.toThrow(/interval/);
    await expect(template('metrics.podMonitor.enabled=true')).rejects.toThrow(/podMonitor/);
  });
});
