/**
 * The normal form of pod templates agrees with what the real API server stores, by server-side dry run; and a change of
 * spelling through the API replaces no pod.
 */
import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKubeClient, type KubeClient } from '../../../src/cluster/kube/client/client.ts';
import { subsetDiff } from '../../../src/cluster/kube/compare/compare.ts';
import {
  type ManagedDeployment,
  managedDeploymentSpecSchema,
} from '../../../src/contract/resource/managed-deployment.ts';
import { canonicalJson } from '../../../src/domain/core/hash.ts';
import { componentDeployment } from '../../../src/workloads/components.ts';
import type { KubeObject } from '../../../src/workloads/desired-object.ts';
import { renderTemplates } from '../../../src/workloads/objects/pod-template.ts';
import { meaningHash } from '../../../src/workloads/same-template.ts';
import { validResourceSpec } from '../../arbitraries/resource-spec.ts';
import { type Json, REAL_CHANGES, respelled } from '../../arbitraries/spellings.ts';
import { type KubeList, smallDeployment, startWholeBerth } from '../harness/berth.ts';
import { createNamespace, deleteNamespace, environment } from '../harness/environment.ts';
import { RENDERING } from '../harness/operator.ts';

let client: KubeClient;
let namespace: string;
beforeAll(async () => {
  namespace = await createNamespace('forms');
  client = await createKubeClient({
    kubeconfigPath: environment().kubeconfigPath,
    userAgent: 'berth-test',
    requestTimeoutMs: 30_000,
  });
});
afterAll(async () => {
  await client?.close();
  await deleteNamespace(namespace);
});

/** The Deployment of the api component with this pod template. */
function deployment(podTemplate: Json): KubeObject {
  const spec = managedDeploymentSpecSchema.parse({ revision: { number: 1, image: 'web:1' }, podTemplate });
  const metadata = { name: 'web', namespace, uid: '0197a000-0000-4000-8000-000000000001' };
  const resource = { apiVersion: 'berth.dev/v1alpha1', kind: 'ManagedDeployment', metadata, spec };
  const managed = resource as ManagedDeployment;
  const template = renderTemplates(managed, RENDERING).api ?? {};
  return componentDeployment(managed, 'api', template, RENDERING);
}

const templateOf = (object: object) => (object as { spec: { template: V1PodTemplateSpec } }).spec.template;

/** As the API server would store it. */
const stored = (object: KubeObject) =>
  client.apply<KubeObject>(object, { fieldManager: 'berth-test', force: true, dryRun: true });

const container = (more: Json): Json => ({ sidecars: [{ name: 'side', image: 'side:1', ...more }] });
const volume = (more: Json): Json => ({ volumes: [{ name: 'data', ...more }] });

describe('the normal form', () => {
  test.each<[string, Json, Json]>([
    [
      'memory',
      container({ resources: { limits: { memory: '64Mi' } } }),
      container({ resources: { limits: { memory: '65536Ki' } } }),
    ],
    [
      'cpu',
      container({ resources: { limits: { cpu: '0.5' } } }),
      container({ resources: { limits: { cpu: '500m' } } }),
    ],
    [
      'whole cores',
      container({ resources: { limits: { cpu: '1' } } }),
      container({ resources: { limits: { cpu: '1000m' } } }),
    ],
    ['the pull policy of a tag', container({}), container({ imagePullPolicy: 'IfNotPresent' })],
    [
      'the pull policy of latest',
      container({ image: 'side' }),
      container({ image: 'side', imagePullPolicy: 'Always' }),
    ],
    [
      'empty lists',
      container({}),
      container({ args: [], command: [], env: [], envFrom: [], volumeMounts: [] }),
    ],
    ['an empty value', container({ env: [{ name: 'A' }] }), container({ env: [{ name: 'A', value: '' }] })],
    ['empty resources', container({}), container({ resources: { limits: {}, requests: {} } })],
    [
      'the version of a field',
      container({ env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] }),
      container({
        env: [{ name: 'A', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } }],
      }),
    ],
    ['a volume without a source', volume({}), volume({ emptyDir: {} })],
    ['the medium', volume({ emptyDir: {} }), volume({ emptyDir: { medium: '' } })],
    [
      'the mode',
      volume({ secret: { secretName: 's' } }),
      volume({ secret: { secretName: 's', defaultMode: 420 } }),
    ],
    ['no files', volume({ configMap: { name: 'c' } }), volume({ configMap: { name: 'c', items: [] } })],
    [
      'read-only',
      volume({ persistentVolumeClaim: { claimName: 'c' } }),
      volume({ persistentVolumeClaim: { claimName: 'c', readOnly: false } }),
    ],
    ['labels', {}, { labels: {}, annotations: {}, sidecars: [], volumes: [] }],
  ])('is equal for spellings that the API server stores as the same (%s)', async (_, one, other) => {
    const [first, second] = await Promise.all([one, other].map((spec) => stored(deployment(spec))));
    expect(canonicalJson(templateOf(second ?? {}))).toBe(canonicalJson(templateOf(first ?? {})));
    expect(meaningHash(templateOf(deployment(other)))).toBe(meaningHash(templateOf(deployment(one))));
  });
});

function podTemplateOf(spec: Record<string, unknown>): Json {
  const members = {
    labels: spec['labels'],
    annotations: spec['annotations'],
    volumes: spec['volumes'],
    volumeMounts: spec['volume_mounts'],
    initContainers: spec['init_containers'],
    sidecars: spec['sidecars'],
  };
  return JSON.parse(JSON.stringify(members, (_, value) => value ?? undefined)) as Json;
}
const anyTemplate = validResourceSpec().map(podTemplateOf);

test('ignores the defaults of the API server in any spelling, in normal forms and in differences', async () => {
  await fc.assert(
    fc.asyncProperty(anyTemplate, fc.integer(), async (podTemplate, seed) => {
      const one = deployment(podTemplate);
      const other = deployment(respelled(podTemplate, seed));
      const [first, second] = await Promise.all([stored(one), stored(other)]);
      expect(meaningHash(templateOf(first))).toBe(meaningHash(templateOf(one)));
      expect(meaningHash(templateOf(second))).toBe(meaningHash(templateOf(one)));
      expect([...subsetDiff(one, first), ...subsetDiff(other, second)]).toEqual([]);
    }),
    { numRuns: 60 },
  );
}, 300_000);

test('gives different normal forms to templates that the API server stores as different ones', async () => {
  const base: Json = {
    initContainers: [
      {
        name: 'one',
        image: 'one:1',
        args: ['a', 'b'],
        env: [{ name: 'A', value: '1' }, { name: 'PORT', value: '' }, { name: 'B' }],
      },
      { name: 'two', image: 'two:1' },
    ],
    sidecars: [
      { name: 'three', image: 'three:1' },
      { name: 'four', image: 'four:1' },
    ],
  };
  for (const [name, change] of Object.entries(REAL_CHANGES)) {
    const other = structuredClone(base);
    change(other, (other['initContainers'] as Json[])[0] ?? {});
    const both = [deployment(base), deployment(other)] as const;
    const [first, second] = await Promise.all(both.map(stored));
    expect(canonicalJson(templateOf(second ?? {})), name).not.toBe(canonicalJson(templateOf(first ?? {})));
    expect(meaningHash(templateOf(both[1])), name).not.toBe(meaningHash(templateOf(both[0])));
  }
});

describe('a PATCH of a sidecar', () => {
  const body = (memory: string) => ({
    source_config: {
      resource_spec: { sidecars: [{ name: 'side', image: 'side:1', resources: { limits: { memory } } }] },
    },
  });

  test('replaces no pod if it spells the same memory limit differently, and all pods if it raises it', async () => {
    const berth = await startWholeBerth('spelled');
    try {
      const { id } = await berth.create(smallDeployment('web', body('64Mi')));
      const path = `/v2/deployments/${id}`;
      const rolls = async (memory: string) => {
        const dryRun = await berth.call<{ pods_roll: boolean }>(
          'PATCH',
          `${path}?dry_run=true`,
          body(memory),
        );
        expect([dryRun.status, dryRun.body]).toMatchObject([200, {}]);
        return dryRun.body.pods_roll;
      };
      const change = async (memory: string) => {
        const answer = await berth.call('PATCH', path, body(memory));
        expect([answer.status, answer.body]).toMatchObject([200, {}]);
        await berth.ready(id);
        const { items } = await berth.get<KubeList>('pods', '-l', `berth.dev/deployment-id=${id}`);
        return items
          .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
          .map(({ metadata }) => `${metadata.name} ${metadata.uid}`)
          .sort();
      };
      await berth.ready(id);
      const before = await change('64Mi');
      expect(before.length).toBeGreaterThan(0);
      expect(await rolls('65536Ki')).toBe(false);
      expect(await change('65536Ki')).toEqual(before);
      expect(await rolls('65537Ki')).toBe(true);
      const after = await change('65537Ki');
      expect(after).not.toEqual(before);
    } finally {
      await berth.stop();
    }
  }, 180_000);
});
