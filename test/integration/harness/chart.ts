/** The chart as `helm template` renders it, for tests of its values. */
import { beforeAll } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { CHART } from '../../../scripts/manifests.ts';
import { resolveHelm } from '../../cluster/helm.ts';
import { FIRST_TIME_MS } from '../../cluster/images/tools.ts';
import { helm } from '../../installation/helm.ts';
import type { ManifestObject } from '../../installation/install.ts';
import { environment } from './environment.ts';

// The first file of a worker waits here for a Helm that has to be built first, not within the limit of its first test.
beforeAll(async () => {
  await resolveHelm();
}, FIRST_TIME_MS);

interface Container {
  image: string;
  env?: { name: string; value?: string; valueFrom?: { secretKeyRef: object } }[];
  envFrom?: object[];
  resources: object;
  securityContext: { readOnlyRootFilesystem?: boolean };
  volumeMounts: object[];
  ports?: { name: string }[];
  startupProbe?: { failureThreshold: number; periodSeconds: number };
}

/** The fields of an object of the chart that tests use. */
export interface Rendered extends ManifestObject {
  metadata: ManifestObject['metadata'] & {
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  data?: Record<string, string>;
  subjects?: object[];
  spec?: {
    replicas?: number;
    template?: {
      metadata: { labels: Record<string, string>; annotations?: Record<string, string> };
      spec: {
        containers: Container[];
        securityContext: Record<string, unknown>;
        serviceAccountName: string;
        volumes: object[];
        tolerations?: object[];
        topologySpreadConstraints?: object[];
      };
    };
  };
}

/** Values as arguments of Helm. */
export const set = (values: readonly string[]) => values.flatMap((value) => ['--set', value]);

/** The objects of what Helm prints. */
export const parsed = (text: string) =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as Rendered | null)
    .filter((object) => object !== null);

const rendered = new Map<string, Promise<string>>();

/** The objects that these values make, as `berth` in berth-system; each set of values is rendered once. */
export async function render(...values: string[]): Promise<Rendered[]> {
  const key = JSON.stringify(values);
  const text =
    rendered.get(key) ??
    helm(environment(), ['template', 'berth', CHART, '-n', 'berth-system', ...set(values)]);
  rendered.set(key, text);
  return parsed(await text);
}

export const named = (objects: Rendered[], kind: string, name: string) =>
  objects.find((object) => object.kind === kind && object.metadata.name === name);

/** The fields of a NetworkPolicy that tests use. */
export interface Policy {
  egress: { to?: { podSelector?: object; ipBlock?: { cidr: string } }[]; ports?: { port: unknown }[] }[];
  ingress: { from: { namespaceSelector?: { matchLabels: object } }[] }[];
}
/** The NetworkPolicy of a name. */
export const policyOf = (objects: Rendered[], name: string) =>
  named(objects, 'NetworkPolicy', name)?.spec as unknown as Policy;

/** Every pod that the chart runs: those of Deployments and of the migration. */
export const podsOf = (objects: Rendered[]) => objects.flatMap(({ spec }) => spec?.template ?? []);
export const jobsOf = (objects: Rendered[]) => objects.filter(({ kind }) => kind === 'Job');
