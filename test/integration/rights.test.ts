/**
 * The rights that the chart gives, held against what the accounts were seen to do: by the API server's audit log, over the
 * life of one deployment that has everything and goes wrong in some ways, and of two resources by hand. That nothing is
 * asked for beyond them, installation.test.ts looks at for each profile.
 */
import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RESOURCES } from '../../src/kube/resources.ts';
import { describeRight } from '../../src/kube/rights.ts';
import { workRights } from '../../src/listener/rights.ts';
import { CHILD_KINDS, type ChildKindName } from '../../src/operator/kinds.ts';
import { neededRights } from '../../src/operator/rights.ts';
import { waitFor } from '../cluster/wait.ts';
import { type KubeItem, startWholeBerth, type WholeBerth } from './harness/berth.ts';
import { cluster, kubectlAsAdmin } from './harness/environment.ts';

interface AuditLine {
  user: { username: string };
  verb: string;
  objectRef?: {
    apiGroup?: string;
    resource: string;
    subresource?: string;
    namespace?: string;
    name?: string;
  };
  responseStatus?: { code: number };
}

/**
 * Rights of which no request may be seen here, and why they are needed all the same. Where one is given no longer, or what
 * it is for is not where it is said to be, this fails as it does for a right without a use.
 */
const UNSEEN: Readonly<Record<string, { why: string; file: string; says: RegExp }>> = {
  'berth-operator: update manageddeployments.berth.dev/finalizers': {
    why: 'asked of admission, where OwnerReferencesPermissionEnforcement is on: the owner references block its deletion',
    file: '../../src/workloads/owner.ts',
    says: /blockOwnerDeletion: true/,
  },
  'berth-operator: get controllerrevisions.apps': {
    why: "somebody else's object bars the way of a stored template, whose name holds the hash of what is in it",
    file: '../../src/operator/act.ts',
    says: /view\.refresh\(kind as ChildKindName/,
  },
  'berth-operator: patch events': {
    why: 'the same news of the same object once more',
    file: '../../src/kube/events.ts',
    says: /client\.patch\(RESOURCES\.Event/,
  },
  'berth-listener: get manageddeployments.berth.dev': {
    why: 'the cache is behind',
    file: '../../src/listener/resource-view.ts',
    says: /reflector\.refresh\(/,
  },
};
/** The Gateway API is not in this cluster: routing.test.ts. */
const GATEWAY = 'httproutes.gateway.networking.k8s.io';

let berth: WholeBerth;
let from: number;
beforeAll(async () => {
  from = statSync(cluster().auditLogPath).size;
  berth = await startWholeBerth('rights', {
    settings: { BERTH_ROUTING: 'ingress', BERTH_NETWORK_ISOLATION: 'true' },
  });
});
afterAll(() => berth.stop());

/** The log since this file began: it is that of all files. */
function auditLines(): AuditLine[] {
  const path = cluster().auditLogPath;
  const text = Buffer.alloc(statSync(path).size - from);
  const file = openSync(path, 'r');
  const length = readSync(file, text, 0, text.length, from);
  closeSync(file);
  return (
    text
      .subarray(0, length)
      .toString('utf8')
      .split('\n')
      // The last one may be half written.
      .slice(0, -1)
      .filter((line) => line.includes(berth.namespace))
      .map((line) => JSON.parse(line) as AuditLine)
  );
}

/** What an account did in the namespace of the deployment, and what it was refused. */
function seen(account: string): { used: Set<string>; refused: string[] } {
  const lines = auditLines().filter(
    ({ user, objectRef }) =>
      user.username.endsWith(`:${account}`) && objectRef?.namespace === berth.namespace,
  );
  const used = new Set<string>();
  const refused: string[] = [];
  for (const { verb, objectRef, responseStatus } of lines) {
    const { apiGroup: group = '', resource = '', subresource } = objectRef ?? {};
    const right = { group, resource, ...(subresource === undefined ? {} : { subresource }) };
    const code = responseStatus?.code;
    if (code === 403) refused.push(describeRight({ ...right, verb }));
    used.add(describeRight({ ...right, verb }));
    // An apply that makes an object needs both rights.
    if (verb === 'patch' && code === 201) used.add(describeRight({ ...right, verb: 'create' }));
  }
  return { used, refused };
}

const body = (config: object, image: string, secrets: object[] = []) => ({
  source_config: config,
  source_revision_config: { image_uri: `registry.example/shop/web:${image}` },
  secrets: [{ name: 'A', value: 'b' }, ...secrets],
});

/** Until the account has been seen to use it. */
const seenTo = (account: string, ...rights: string[]) =>
  waitFor(
    `${account} to be seen to ${rights.join(', ')}`,
    async () => {
      const { used } = seen(account);
      return rights.every((right) => used.has(right));
    },
    { timeoutMs: 60_000, intervalMs: 500 },
  );

const kubectl = (...args: string[]) => kubectlAsAdmin(['-n', berth.namespace, ...args]);

/** Somebody edits each object: it is put back. */
async function edited(id: string): Promise<void> {
  const kinds = 'deployments,statefulsets,services,serviceaccounts,hpa,pdb,networkpolicies,ingresses';
  const ours = ['-l', `berth.dev/deployment-id=${id}`];
  await kubectl('label', '--overwrite', kinds, ...ours, 'app.kubernetes.io/part-of=edited');
  await waitFor(
    'every object to be put back',
    async () => (await berth.get(kinds, '-l', 'app.kubernetes.io/part-of=edited')).items.length === 0,
    { timeoutMs: 60_000 },
  );
}

/** A revision that fails is looked at on the server itself; what waits without a word has its Events read. */
async function failing(id: string): Promise<void> {
  await berth.call('PATCH', `/v2/deployments/${id}`, body({}, 'fail-crash-loop'));
  await seenTo('berth-operator', 'get deployments.apps');
  await berth.call('PATCH', `/v2/deployments/${id}`, body({}, 'fail-never-ready'));
  await seenTo('berth-operator', 'list events');
  await berth.call('PATCH', `/v2/deployments/${id}`, body({}, '1'));
  await berth.ready(id);
}

/** Whether there is any is the node's matter, and there is none. */
async function logs(id: string): Promise<void> {
  await berth.call('GET', `/v2/deployments/${id}/logs`);
  await seenTo('berth-listener', 'list pods', 'get pods/log');
}

const byHand = (name: string, volumePolicy: string) => ({
  apiVersion: 'berth.dev/v1alpha1',
  kind: 'ManagedDeployment',
  metadata: { name },
  spec: {
    revision: { image: 'registry.example/shop/web:1' },
    components: { api: { scale: { min: 2, max: 3 } } },
    database: { volumePolicy },
    routing: { url: `https://${name}-${berth.namespace}.example.com` },
  },
});

const apply = (object: object) =>
  kubectlAsAdmin(['-n', berth.namespace, 'apply', '--server-side', '-f', '-'], JSON.stringify(object));

/** Whose the data is changes on a resource by hand alone. */
async function handedOver(): Promise<void> {
  await apply(byHand('by-hand', 'Retain'));
  await kubectl('wait', '--for=condition=Ready', 'mdep/by-hand', '--timeout=90s');
  await apply(byHand('by-hand', 'Delete'));
  await seenTo('berth-operator', 'patch secrets', 'patch controllerrevisions.apps');
}

/** Kinds of which an object of somebody else can bar the way: their names are known before. */
const BARRED = [
  'Deployment',
  'StatefulSet',
  'Service',
  'ServiceAccount',
  'HorizontalPodAutoscaler',
  'PodDisruptionBudget',
  'NetworkPolicy',
  'Ingress',
  'PersistentVolumeClaim',
] as const;
const plurals = (kind: (typeof BARRED)[number]) => RESOURCES[kind].plural;

/** Somebody else's, as the one of `by-hand`. */
function obstacle({ apiVersion, kind, metadata, spec }: KubeItem & { apiVersion: string }): object {
  const { clusterIP: _, clusterIPs: __, volumeName: ___, ...rest } = (spec ?? {}) as Record<string, unknown>;
  const still = kind === 'Deployment' || kind === 'StatefulSet' ? { ...rest, replicas: 0 } : rest;
  const renamed = JSON.stringify({ name: metadata.name, spec: still }).replaceAll('by-hand', 'barred');
  const { name, spec: own } = JSON.parse(renamed) as { name: string; spec: object };
  const object = { apiVersion, kind, metadata: { name, labels: { obstacle: 'yes' } } };
  return kind === 'ServiceAccount' ? object : { ...object, spec: own };
}

/** Whose an object is that bars the way of a new one, is looked at; each that was is taken away. */
async function barred(): Promise<void> {
  const kinds = BARRED.map(plurals).join(',');
  const { items } = await berth.get<{ items: (KubeItem & { apiVersion: string })[] }>(
    kinds,
    '-l',
    'app.kubernetes.io/instance=by-hand',
  );
  const obstacles = items.map(obstacle);
  await kubectlAsAdmin(
    ['-n', berth.namespace, 'create', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items: obstacles }),
  );
  await apply(byHand('barred', 'Delete'));
  const left = new Set(BARRED);
  await waitFor(
    'each kind to be looked at',
    async () => {
      const { used } = seen('berth-operator');
      for (const kind of left) {
        const { group, plural: resource } = RESOURCES[kind];
        // Looked at before, for another reason: see `failing`.
        if (!used.has(describeRight({ group, resource, verb: 'get' }))) continue;
        left.delete(kind);
        await kubectl('delete', resource, '-l', 'obstacle=yes', '--ignore-not-found');
      }
      return left.size === 0;
    },
    { timeoutMs: 120_000, intervalMs: 500 },
  );
  await kubectl('wait', '--for=condition=Ready', 'mdep/barred', '--timeout=90s');
  await kubectl('delete', 'mdep', 'barred', 'by-hand');
}

async function everything(): Promise<void> {
  const host = `https://${berth.namespace}.example.com`;
  const large = { min_scale: 2, max_scale: 3, queue_min_scale: 1, queue_max_scale: 1, db_storage_gi: 1 };
  const { id } = await berth.create({
    name: 'everything',
    source: 'external_image',
    ...body({ custom_url: host, resource_spec: large }, '1'),
  });
  await berth.ready(id);
  await edited(id);
  await failing(id);
  await logs(id);
  await berth.call('PATCH', `/v2/deployments/${id}`, {
    source_config: { resource_spec: { ...large, db_storage_gi: 2 } },
  });
  await berth.ready(id);
  // All that can go, goes.
  const external = [
    { name: 'DATABASE_URI_CUSTOM', value: 'postgres://u:p@db.example.com/x' },
    { name: 'CACHE_URI_CUSTOM', value: 'redis://cache.example.com' },
  ];
  const small = {
    min_scale: 1,
    max_scale: 1,
    queue_min_scale: null,
    queue_max_scale: 0,
    service_account_name: 'default',
  };
  const { status } = await berth.call('PATCH', `/v2/deployments/${id}`, {
    ...body({ custom_url: null, resource_spec: small }, '2', external),
  });
  expect(status).toBe(200);
  await berth.ready(id);
  await berth.call('DELETE', `/v2/deployments/${id}`);
  await waitFor(
    'the record to be gone',
    async () => ((await berth.call('GET', `/v2/deployments/${id}`)).status === 404 ? true : undefined),
    { timeoutMs: 60_000 },
  );
}

test('a deployment has everything, goes wrong and goes', everything, 240_000);
test('the data of a resource by hand is handed over', handedOver, 180_000);
test("somebody else's objects bar its way", barred, 240_000);

test('every right is used, but for those that say where they are; nothing else is asked for', async () => {
  // Watches are told of when they end.
  await berth.process().stop();
  const kinds = Object.keys(CHILD_KINDS) as ChildKindName[];
  const granted = { 'berth-operator': neededRights(kinds), 'berth-listener': workRights() };
  for (const [account, rights] of Object.entries(granted)) {
    const watches = rights.filter(({ verb }) => verb === 'watch').map(describeRight);
    await seenTo(account, ...watches.filter((right) => !right.endsWith(GATEWAY)));
  }
  const named: string[] = [];
  const unused = Object.entries(granted).flatMap(([account, rights]) => {
    const { used, refused } = seen(account);
    expect(refused, account).toEqual([]);
    const names = rights.map(describeRight);
    named.push(...names.map((right) => `${account}: ${right}`));
    expect(
      [...used].filter((right) => !names.includes(right)),
      account,
    ).toEqual([]);
    return names
      .filter((right) => !used.has(right) && !right.endsWith(GATEWAY))
      .map((right) => `${account}: ${right}`);
  });
  expect(unused.filter((right) => UNSEEN[right] === undefined)).toEqual([]);
  expect(named).toEqual(expect.arrayContaining(Object.keys(UNSEEN)));
});

test.each(Object.entries(UNSEEN))('%s: what uses it is where it is said to be', (_right, { file, says }) => {
  expect(readFileSync(new URL(file, import.meta.url), 'utf8')).toMatch(says);
});
