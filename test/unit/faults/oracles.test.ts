/** The parts of the oracles that judge. A plan that holds does not show that they find a violation. */
import { describe, expect, test } from 'vitest';
import type { KubeObject, UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { LABELS } from '../../../src/contract/resource/names.ts';
import {
  type Beat,
  faster,
  hubBeat,
  isKubernetesHeartbeat,
  kubernetesBeat,
  sqlBeat,
} from '../../faults/heartbeats.ts';
import { allowedMs, lastEffect } from '../../faults/oracles/convergence.ts';
import { desiredStateDifferences } from '../../faults/oracles/desired-state.ts';
import { LastFault } from '../../faults/oracles/last-fault.ts';
import { recreatedOf } from '../../faults/oracles/object-counts.ts';
import { withoutVersions, withValues } from '../../faults/oracles/state.ts';
import { unhandledLines } from '../../faults/oracles/unhandled-errors.ts';
import type { HttpRequest } from '../../faults/proxies/http-traffic.ts';
import type { KubernetesRequest } from '../../faults/proxies/kubernetes-traffic.ts';
import type { SqlMessage } from '../../faults/proxies/postgres-traffic.ts';
import { RuleBook } from '../../faults/proxies/rules.ts';
import { endedByItself } from '../../faults/role-process.ts';
import { tracked } from '../../faults/tracked-rules.ts';

const encoded = (values: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  );
const object = (kind: string, name: string, more: object = {}): KubeObject =>
  ({ apiVersion: 'v1', kind, metadata: { name }, ...more }) as KubeObject;

describe('O1, compared with the desired state', () => {
  const spec = { recordGeneration: 7, revision: { envSecretName: 'shop-1-env-2' } };
  const service = (more: object, metadata: object = {}) => ({
    ...object('Service', 'shop-1', { spec: more }),
    metadata: { name: 'shop-1', ...metadata },
  });
  const claim = object('PersistentVolumeClaim', 'shop-1-db', {
    spec: { resources: { requests: { storage: '10Gi' } } },
  });
  const wanted = [object('ManagedDeployment', 'shop-1', { spec }), service({ ports: [{ port: 80 }] }), claim];
  const live = (found: object, env: object[] = [object('Secret', 'shop-1-env-2')], more: object[] = []) =>
    [
      object('ManagedDeployment', 'shop-1', { spec: { ...spec, recordGeneration: 3 }, status: {} }),
      found,
      object('PersistentVolumeClaim', 'shop-1-db', { spec: {} }),
      object('ControllerRevision', 'shop-1-2'),
      ...env,
      ...more,
    ] as KubeObject[];
  const right = service({ ports: [{ port: 80 }], sessionAffinity: 'ClientIP' });

  test('accepts additions of others and objects of earlier rollouts', () => {
    expect(desiredStateDifferences(wanted, live(right))).toEqual([]);
  });

  test.each([
    ['a missing object', live(right, []), 'Secret shop-1-env-2 is missing'],
    [
      'an object that is being deleted',
      live(service({ ports: [{ port: 80 }] }, { deletionTimestamp: '2026-01-01T00:00:00Z' })),
      'Service shop-1 is missing',
    ],
    [
      'an object that is not desired',
      live(right, undefined, [object('HorizontalPodAutoscaler', 'shop-1-api')]),
      'HorizontalPodAutoscaler shop-1-api exists, but is not desired',
    ],
    ['another value', live(service({ ports: [{ port: 81 }] })), 'Service shop-1: spec.ports'],
  ])('reports %s', (_, found, message) => {
    expect(desiredStateDifferences(wanted, found)).toEqual([expect.stringContaining(message)]);
  });

  test('reports a number of pods outside the limits', () => {
    const scale = { components: { api: { scale: { min: 2, max: 4 } } } };
    const resource = object('ManagedDeployment', 'shop-1', { spec: scale });
    const of = (replicas: number) => [resource, object('Deployment', 'shop-1-api', { spec: { replicas } })];
    const desired = [resource, object('Deployment', 'shop-1-api')];
    expect(desiredStateDifferences(desired, of(4))).toEqual([]);
    expect(desiredStateDifferences(desired, of(1))).toHaveLength(1);
  });

  test('reports the name of a wrong environment variable, without its value', () => {
    const holding = (token: string) =>
      live(right, [object('Secret', 'shop-1-env-2', { data: encoded({ TOKEN: token }) })]);
    expect(desiredStateDifferences(wanted, holding('second'), { TOKEN: 'second' })).toEqual([]);
    expect(desiredStateDifferences(wanted, holding('first'), { TOKEN: 'second' })).toEqual([
      'Secret shop-1-env-2: TOKEN differs from the value that was sent',
    ]);
  });
});

test('O1 compares environment values, and masks generated passwords', () => {
  const data = (name: string, values: Readonly<Record<string, string>>) =>
    withValues({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, labels: { [LABELS.instance]: 'shop-1' } },
      data: encoded(values),
    } as UntypedObject)['data'];
  expect(data('shop-1-env-2', { TOKEN: 'second', password: 'mine' })).toEqual({
    TOKEN: 'second',
    password: 'mine',
  });
  expect(data('shop-1-db', { password: 'a7', uri: 'postgres://x:a7@y' })).toEqual({
    password: '<password>',
    uri: 'postgres://x:<password>@y',
  });
});

test('O1 compares the generation of objects that only Berth changes', () => {
  const of = (kind: string) => ({ ...object(kind, 'shop-1'), metadata: { name: 'shop-1', generation: 3 } });
  expect(withoutVersions(of('Deployment') as UntypedObject).metadata).toHaveProperty('generation', 3);
  expect(withoutVersions(of('ReplicaSet') as UntypedObject).metadata).not.toHaveProperty('generation');
});

describe('the time limit of O1', () => {
  interface Fault {
    readonly kind: string;
    readonly ms?: number;
    readonly run?: () => Promise<void>;
    readonly drop?: (event: string) => boolean;
  }
  const start = () => {
    const faults = new LastFault();
    const book = new RuleBook<string, Fault>();
    const proxy = {
      add: (rule: Parameters<typeof book.add>[0]) => book.add(rule),
      cut: (_client?: string) => undefined,
      open: (_client?: string) => undefined,
    };
    return { faults, book, ...tracked(proxy, faults) };
  };

  test('starts when a rule acts, when its call ends, and when it is removed', async () => {
    const { proxy, book, faults } = start();
    const { promise: free, resolve: release } = Promise.withResolvers<void>();
    const rule = proxy.add({ match: (text) => text === 'it', fault: { kind: 'before', run: () => free } });
    faults.begin();
    book.take('another');
    expect(faults.last.what).toBe('the plan began');
    const ended = book.take('it')?.fault.run?.();
    expect(faults.last.what).toBe('before');
    faults.begin();
    release();
    await ended;
    expect(faults.last.what).toBe('before');
    rule.remove();
    expect(faults.last.what).toBe('before removed');
    proxy.cut('operator');
    expect(faults.last.what).toBe('cut');
  });

  test('does not start when a rule is used up, only counts, or drops no event', () => {
    const { proxy, book, faults } = start();
    const once = proxy.add({ match: () => true, fault: { kind: 'lose' }, times: 1 });
    book.take('it');
    proxy.add({ match: () => true, fault: { kind: 'delay', ms: 0 } });
    proxy.add({ match: () => true, fault: { kind: 'filter-watch', drop: (event) => event === 'lost' } });
    faults.begin();
    const drop = book.take('it')?.fault.drop;
    once.remove();
    drop?.('kept');
    expect(faults.last.what).toBe('the plan began');
    drop?.('lost');
    expect(faults.last.what).toBe('an event dropped');
  });

  test('adds the time without a fault, at least 15 s', () => {
    expect(allowedMs({})).toBe(45_000);
    expect(allowedMs({}, 40_000)).toBe(70_000);
    expect(allowedMs({ convergesWithinSeconds: 120 }, 1_000)).toBe(135_000);
  });

  test('ends at the last accepted write, report or SQL write', () => {
    const write = { client: 'operator', resource: 'services', subresource: '', name: 'shop', path: '/x' };
    const applied = { ...write, verb: 'apply', upstreamStatus: 200, endedAt: 10 };
    const late = { ...applied, endedAt: 90 };
    const effect = (kubernetes: object[], hub: object[] = [], messages: object[] = []) =>
      lastEffect({
        kubernetes: { exchanges: () => kubernetes },
        hub: { exchanges: () => hub },
        postgres: { messages: () => messages },
      } as unknown as Parameters<typeof lastEffect>[0]);
    const others = [
      { ...late, upstreamStatus: 409 },
      { ...late, verb: 'list' },
      { ...late, resource: 'events' },
    ];
    expect(effect(others)).toBeUndefined();
    const report = { method: 'POST', path: '/v2/listeners/1/reports', endedAt: 20 };
    const inventory = { ...report, path: '/v2/listeners/1/inventory', endedAt: 90 };
    expect(effect([applied, ...others], [report, inventory])).toBe(20);
    const sql = [
      { sql: 'UPDATE deployments SET generation = 2', at: 30 },
      { sql: 'SELECT 1', at: 90 },
    ];
    expect(effect([applied], [report], sql)).toBe(30);
  });
});

test('O2 reports an object that was recreated, unless the plan deleted it or its owner', () => {
  const object = (kind: string, name: string, ...owners: string[]) => ({ kind, name, owners });
  const service = object('Service', 'shop-1', 'ManagedDeployment shop-1');
  const recreated = (deleted: string[], kinds: string[] = [], one = service) =>
    recreatedOf({ ended: [one, object('Secret', 'shop-1-env-1')], alive: [one] }, new Set(deleted), kinds);
  expect(recreated([])).toEqual(['Service shop-1']);
  expect(recreated(['services shop-2'])).toEqual(['Service shop-1']);
  expect(recreated(['services shop-1'])).toEqual([]);
  expect(recreated(['manageddeployments shop-1'])).toEqual([]);
  expect(recreated([], ['Service'])).toEqual([]);
  expect(recreated([], [], object('ControllerRevision', 'shop-1-db-7', 'StatefulSet shop-1-db'))).toEqual([]);
});

describe('O5', () => {
  const times = (count: number, beat: Beat): Beat[] => Array.from({ length: count }, () => beat);
  const operator = (verb: string, path: string) =>
    kubernetesBeat({ client: 'operator', verb, path } as KubernetesRequest);
  const watch = operator('watch', '/api/v1/pods?watch=1&resourceVersion=7');
  const renewal = operator('update', '/leases/berth');
  const poll = hubBeat({
    client: 'listener',
    method: 'GET',
    path: '/v2/listeners/1/work?wait=30',
  } as HttpRequest);
  const [query] = sqlBeat({ client: 'api', sql: 'SELECT 1 FROM deployments' } as SqlMessage) as [Beat];

  test('accepts periodic requests', () => {
    const beats = [...times(2, watch), ...times(5, renewal), ...times(3, poll), ...times(10, query)];
    expect(faster(beats, 5)).toEqual([]);
  });

  test('exempts reads of referenced Secrets, and no other read of a Secret, up to one a minute for each deployment', () => {
    const get = (name: string) =>
      ({
        client: 'operator',
        verb: 'get',
        resource: 'secrets',
        name,
        path: `/api/v1/secrets/${name}`,
      }) as KubernetesRequest;
    expect(isKubernetesHeartbeat(get('external-payments'))).toBe(true);
    for (const other of [
      get('shop-1-db'),
      { ...get('external-payments'), verb: 'list' } as KubernetesRequest,
    ])
      expect(isKubernetesHeartbeat(other)).toBe(false);
    const read = kubernetesBeat(get('external-payments'));
    expect(faster(times(15, read), 60)).toEqual([]);
    expect(faster(times(60, read), 60)).toHaveLength(1);
  });

  test('reports loops without a pause, with client and path', () => {
    const loops = [...times(6, watch), ...times(16, renewal), ...times(16, poll), ...times(26, query)];
    expect(faster(loops, 5)).toEqual([
      '6 times within 5 s: operator: watch /api/v1/pods',
      '16 times within 5 s: operator: update /leases/berth',
      '16 times within 5 s: listener: GET /v2/listeners/1/work',
      '26 times within 5 s: api: SELECT 1 FROM deployments',
    ]);
  });
});

describe('O8', () => {
  test.each([
    ['accepts an end that SIGTERM requested', 0, null, ['SIGTERM'], undefined],
    ['accepts a process that the plan killed', null, 'SIGKILL', ['SIGSTOP', 'SIGKILL'], undefined],
    ['reports exit code 1 after SIGTERM', 1, null, ['SIGTERM'], 'ended by itself, with 1'],
    ['reports exit code 0 without SIGTERM', 0, null, ['SIGSTOP'], 'ended by itself, with 0'],
    [
      'reports a signal that the plan did not send',
      null,
      'SIGKILL',
      ['SIGTERM'],
      'ended by itself, with SIGKILL',
    ],
  ] as const)('%s', (_, code, signal, sent, message) => {
    expect(endedByItself({ code, signal }, new Set<string>(sent))).toBe(message);
  });

  test('reports stack traces and fatal lines of a log', () => {
    const log = [
      '{"level":"info","msg":"started"}',
      '{"level":"fatal","msg":"no way"}',
      '    at run (file:///src/main.ts:1:2)',
    ];
    expect(unhandledLines(log.join('\n'))).toEqual([log[1], log[2]?.trim()]);
  });
});
