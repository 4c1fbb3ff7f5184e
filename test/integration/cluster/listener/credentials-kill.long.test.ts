import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { KubeClient } from '../../../../src/cluster/kube/client/client.ts';
import type { KubeObject } from '../../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../../src/cluster/kube/client/resources.ts';
import { waitFor } from '../../../cluster/wait.ts';
import { kubectlAsAdmin } from '../../harness/environment.ts';
import { kill, killWhen, startVictim } from '../../harness/kill.ts';
import { condition, type OperatorWorld, operatorWorld } from '../../harness/operator.ts';
import { adminClient } from '../../harness/rollouts.ts';

/**
 * kill -9 while the database password is being stored (decision 0023): the password stays the same, and no client is
 * locked out.
 */

let world: OperatorWorld;
let client: KubeClient;
const children: ChildProcess[] = [];

beforeAll(async () => {
  [world, client] = await Promise.all([operatorWorld('credentials'), adminClient()]);
});
afterEach(async () => {
  await Promise.all(children.splice(0).map(kill));
});
afterAll(async () => {
  await client.close();
  await world.end();
});

async function started(identity: string): Promise<ChildProcess> {
  const child = await startVictim(world.another(identity));
  children.push(child);
  return child;
}

const shop = (name: string, revision = 1) =>
  world.apply(name, {
    revision: { number: revision, image: `registry.test/app:${revision}` },
    cache: { external: true },
  });
const dataOf = async (name: string) => (await world.get('secret', name))?.['data'];
const uidOf = async (kind: string, name: string) => (await world.get(kind, name))?.metadata.uid;
const sentinelsOf = (name: string) =>
  world.names('controllerrevisions.apps', `app.kubernetes.io/instance=${name},berth.dev/witness`);

/** Ready, with two equal Secrets, a sentinel for them, and no report of lost ones. */
async function inOrder(name: string): Promise<unknown> {
  const status = await world.ready(name);
  expect(condition(status, 'DatabaseReady')).toBe('True DatabaseAvailable');
  const data = await dataOf(`${name}-db`);
  expect(data).toMatchObject({ password: expect.stringMatching(/./) });
  expect(await dataOf(`${name}-db-copy`)).toEqual(data);
  await waitFor('one sentinel', async () => (await sentinelsOf(name)).length === 1, {
    timeoutMs: 60_000,
    intervalMs: 100,
  });
  return data;
}

/** Limits the number of objects of a kind in the namespace; null: no limit. */
async function limit(kind: string, most: number | null): Promise<void> {
  const name = 'limit';
  await world.kubectl('delete', 'resourcequota', name, '--ignore-not-found', '--wait=true');
  if (most === null) return;
  const quota = {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name, namespace: world.namespace },
    spec: { hard: { [`count/${kind}`]: String(most) } },
  };
  await kubectlAsAdmin(['apply', '-f', '-'], JSON.stringify(quota));
  // Everything is rejected until the quota controller has counted for the first time.
  await waitFor(
    'the quota to be counted',
    async () => JSON.stringify((await world.get('resourcequota', name))?.['status'] ?? {}).includes('used'),
    { timeoutMs: 60_000 },
  );
}

test('creates the Secret of the database from its copy when the operator is killed between the two', async () => {
  const { length } = await world.names('secrets');
  await limit('secrets', length + 1);
  const first = await started('first');
  await shop('half');
  await waitFor('the copy', async () => (await dataOf('half-db-copy')) !== undefined, { timeoutMs: 60_000 });
  // Rejected and reported: the operator has done the first step, but not the second.
  await world.until('half', 'refused', ({ conditions = [] }) =>
    conditions.some(({ message }) => message.includes('rejects the call to create Secret')),
  );
  const before = await dataOf('half-db-copy');
  await kill(first);
  expect(await uidOf('secret', 'half-db')).toBeUndefined();
  expect(await uidOf('pvc', 'half-db')).toBeUndefined();
  await limit('secrets', null);
  await started('second');
  expect(await inOrder('half')).toEqual(before);
});

test('initializes the volume with the existing password when the operator is killed after the Secrets', async () => {
  await limit('persistentvolumeclaims', (await world.names('pvc')).length);
  const first = await started('first');
  await shop('volumeless');
  await world.until('volumeless', 'refused', ({ conditions = [] }) =>
    conditions.some(({ message }) => message.includes('exceeded quota')),
  );
  const before = await dataOf('volumeless-db');
  expect(before).toBeDefined();
  await kill(first);
  await limit('persistentvolumeclaims', null);
  await started('second');
  expect(await inOrder('volumeless')).toEqual(before);
});

test('keeps one sentinel and the Secrets when the operator is killed while it creates the sentinel', async () => {
  const first = await started('first');
  const resource = RESOURCES.ControllerRevision;
  const killing = await killWhen(first, { client, namespace: world.namespace, resource }, ({ metadata }) =>
    metadata.name.startsWith('witnessed-secrets-'),
  );
  await shop('witnessed');
  await killing.done;
  const before = await dataOf('witnessed-db');
  await started('second');
  expect(await inOrder('witnessed')).toEqual(before);
});

test('recreates a Secret and the sentinel that were deleted while no operator ran; the database continues', async () => {
  const first = await started('first');
  const losses = [
    ['reader', 'reader-db'],
    ['copied', 'copied-db-copy'],
  ] as const;
  const state = async (name: string) => [
    await inOrder(name),
    await uidOf('pod', `${name}-db-0`),
    await uidOf('pvc', `${name}-db`),
  ];
  const states = () => Promise.all(losses.map(([name]) => state(name)));
  await Promise.all(losses.map(([name]) => shop(name)));
  const before = await states();
  await kill(first);
  for (const [name, secret] of losses) {
    await world.kubectl('delete', 'controllerrevision', ...(await sentinelsOf(name)));
    await world.kubectl('delete', 'secret', secret);
  }
  await started('second');
  for (const [, secret] of losses) {
    await waitFor(secret, async () => (await uidOf('secret', secret)) !== undefined, { timeoutMs: 60_000 });
  }
  expect(await states()).toEqual(before);
});

test('restores the labels of the sentinel, and then replaces a Secret that is deleted', async () => {
  await started('first');
  await shop('stripped');
  const before = await inOrder('stripped');
  const [name = ''] = await sentinelsOf('stripped');
  const metadataOfSentinel = async () => (await world.get('controllerrevisions.apps', name))?.metadata;
  const sentinel = await metadataOfSentinel();
  const strippings = [
    ['app.kubernetes.io/managed-by'],
    ['app.kubernetes.io/instance'],
    ['berth.dev/inputs-hash'],
    ['berth.dev/witness'],
    Object.keys(sentinel?.labels ?? {}),
  ];
  for (const labels of strippings) {
    await world.kubectl('label', 'controllerrevision', name, ...labels.map((label) => `${label}-`));
    await waitFor(
      `${labels} again`,
      async () => isDeepStrictEqual((await metadataOfSentinel())?.labels, sentinel?.labels),
      {
        timeoutMs: 60_000,
        intervalMs: 100,
      },
    );
  }
  expect(await metadataOfSentinel()).toMatchObject({
    uid: sentinel?.uid,
    ownerReferences: sentinel?.ownerReferences,
  });
  const former = await uidOf('secret', 'stripped-db');
  await world.kubectl('delete', 'secret', 'stripped-db');
  await waitFor(
    'another Secret',
    async () => ![undefined, former].includes(await uidOf('secret', 'stripped-db')),
    { timeoutMs: 60_000 },
  );
  expect(await inOrder('stripped')).toEqual(before);
});

test('the garbage collector removes references to Secrets that never existed, and a sentinel without others', async () => {
  const { namespace } = world;
  const there = await client.create<KubeObject>({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'stays', namespace },
  });
  const gone = { name: 'gone', uid: randomUUID() };
  const createSentinel = (name: string, secrets: readonly { name: string; uid: string }[]) =>
    client.create({
      apiVersion: 'apps/v1',
      kind: 'ControllerRevision',
      metadata: {
        name,
        namespace,
        ownerReferences: secrets.map((secret) => ({ apiVersion: 'v1', kind: 'Secret', ...secret })),
      },
      revision: 0,
      data: {},
    });
  const stays = { name: 'stays', uid: there.metadata.uid ?? '' };
  await Promise.all([createSentinel('half-there', [stays, gone]), createSentinel('not-there', [gone])]);
  const getSentinel = async (name: string) => await world.get('controllerrevisions.apps', name);
  await waitFor(
    'only the one that is there',
    async () => {
      const half = await getSentinel('half-there');
      return half?.metadata.ownerReferences?.length === 1 && (await getSentinel('not-there')) === undefined;
    },
    { timeoutMs: 60_000, intervalMs: 100 },
  );
  expect((await getSentinel('half-there'))?.metadata.ownerReferences).toMatchObject([stays]);
});
