/** What is there beside what would be made anew (O1), and what was deleted though it was wanted (O2). */
import { expect, test } from 'vitest';
import type { KubeObject } from '../../../src/cluster/kube/client/object.ts';
import { freshDifferences } from '../../faults/fresh-look.ts';
import { remadeOf } from '../../faults/lives.ts';

const object = (kind: string, name: string, more: object = {}): KubeObject =>
  ({ apiVersion: 'v1', kind, metadata: { name }, ...more }) as KubeObject;

const RESOURCE = object('ManagedDeployment', 'shop-1', {
  spec: { generation: 7, revision: { envSecretName: 'shop-1-env-2' } },
});
const WANTED = [
  RESOURCE,
  object('Service', 'shop-1', { spec: { ports: [{ port: 80 }] } }),
  object('PersistentVolumeClaim', 'shop-1-db', { spec: { resources: { requests: { storage: '10Gi' } } } }),
];
const LIVE = [
  object('ManagedDeployment', 'shop-1', {
    spec: { generation: 3, revision: { envSecretName: 'shop-1-env-2' } },
    status: {},
  }),
  object('Service', 'shop-1', { spec: { ports: [{ port: 80 }], sessionAffinity: 'ClientIP' } }),
  object('PersistentVolumeClaim', 'shop-1-db', { spec: {} }),
  object('Secret', 'shop-1-env-1'),
  object('Secret', 'shop-1-env-2'),
  object('Secret', 'shop-1-db-copy'),
  object('ControllerRevision', 'shop-1-2'),
];

test('what others add, what is made once, and what rollouts have left is no difference', () => {
  expect(freshDifferences(WANTED, LIVE)).toEqual([]);
});

test('an object that is missing or going, one that nothing wants, and a field that is another are told', () => {
  const gone = LIVE.filter(({ metadata }) => metadata.name !== 'shop-1-env-2');
  expect(freshDifferences(WANTED, gone)).toEqual(['Secret shop-1-env-2 is missing']);
  const leaving = LIVE.map((live) =>
    live.kind === 'Service'
      ? { ...live, metadata: { ...live.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
      : live,
  );
  expect(freshDifferences(WANTED, leaving)).toEqual(['Service shop-1 is missing']);
  expect(freshDifferences(WANTED, [...LIVE, object('HorizontalPodAutoscaler', 'shop-1-api')])).toEqual([
    'HorizontalPodAutoscaler shop-1-api is there, and nothing wants it',
  ]);
  const other = LIVE.map((live) =>
    live.kind === 'Service' ? { ...live, spec: { ports: [{ port: 81 }] } } : live,
  );
  expect(freshDifferences(WANTED, other)).toEqual([expect.stringMatching(/^Service shop-1: spec\.ports/)]);
});

test('pods beyond what the custom resource bounds are told, though no manifest has their number', () => {
  const spec = { components: { api: { scale: { min: 2, max: 4 } }, queue: { scale: { min: 0, max: 0 } } } };
  const wanted = [object('ManagedDeployment', 'shop-1', { spec }), object('Deployment', 'shop-1-api')];
  const of = (replicas: number) => [
    object('ManagedDeployment', 'shop-1', { spec }),
    object('Deployment', 'shop-1-api', { spec: { replicas } }),
  ];
  expect(freshDifferences(wanted, of(4))).toEqual([]);
  expect(freshDifferences(wanted, of(1))).toEqual([
    'Deployment shop-1-api: spec.replicas is 1, wanted are 2 to 4',
  ]);
});

test('an environment that does not hold what the record has is told, without its values', () => {
  const holding = (token: string) =>
    LIVE.map((live) =>
      live.metadata.name === 'shop-1-env-2'
        ? { ...live, data: { TOKEN: Buffer.from(token).toString('base64') } }
        : live,
    );
  expect(freshDifferences(WANTED, holding('second'), { TOKEN: 'second' })).toEqual([]);
  expect(freshDifferences(WANTED, holding('first'), { TOKEN: 'second' })).toEqual([
    'Secret shop-1-env-2: TOKEN is not what was sent',
  ]);
  expect(freshDifferences(WANTED, holding('second'), { OTHER: 'second' })).toEqual([
    'Secret shop-1-env-2: OTHER is not what was sent',
    'Secret shop-1-env-2: TOKEN is not what was sent',
  ]);
});

const life = (kind: string, name: string, ...owners: string[]) => ({ kind, name, owners });
const NOTHING: ReadonlySet<string> = new Set();

test('what was deleted and is there again was wanted all the time', () => {
  const ended = [life('Service', 'shop-1'), life('Secret', 'shop-1-env-1')];
  const alive = [life('Service', 'shop-1')];
  expect(remadeOf({ ended, alive }, NOTHING, [])).toEqual(['Service shop-1']);
});

test('but not where the plan has deleted it or its owner, or its changes bring it back', () => {
  const service = life('Service', 'shop-1', 'ManagedDeployment shop-1');
  const lives = { ended: [service], alive: [service] };
  expect(remadeOf(lives, new Set(['services shop-1']), [])).toEqual([]);
  expect(remadeOf(lives, new Set(['manageddeployments shop-1']), [])).toEqual([]);
  expect(remadeOf(lives, new Set(['services shop-2']), [])).toEqual(['Service shop-1']);
  expect(remadeOf(lives, NOTHING, ['Service'])).toEqual([]);
  const note = life('ControllerRevision', 'shop-1-db-7', 'StatefulSet shop-1-db');
  expect(remadeOf({ ended: [note], alive: [note] }, NOTHING, [])).toEqual([]);
});
