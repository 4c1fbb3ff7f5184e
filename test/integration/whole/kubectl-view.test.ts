import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeClient } from '../../../src/cluster/kube/client/client.ts';
import type { ManagedDeploymentStatus } from '../../../src/contract/resource/managed-deployment.ts';
import { waitFor } from '../../cluster/wait.ts';
import {
  condition,
  type OperatorWorld,
  operatorWorld,
  type RunningOperator,
  startOperator,
} from '../harness/operator.ts';
import { App, adminClient, appSpec } from '../harness/rollouts.ts';

/** What a user sees with kubectl alone, compared with the actual state. */

let world: OperatorWorld;
let operator: RunningOperator;
let client: KubeClient;

beforeAll(async () => {
  world = await operatorWorld('view');
  client = await adminClient();
  operator = await startOperator({ ...world.settings, patience: { imagePullMs: 2_000 } });
});
afterAll(async () => {
  await operator.stop();
  await client.close();
  await world.end();
});

const IMAGE = 'registry.test/web:1';
const BAD = 'registry.test/web:fail-image-pull';
const app = (name: string) => new App(client, world.namespace, name);

/** The row of `kubectl get mdep -o wide`, by its head. Columns are apart by two spaces or more; empty ones end at the next head. */
async function row(name: string): Promise<Record<string, string>> {
  const text = await world.kubectl('get', 'mdep', name, '-o', 'wide');
  const [head = '', line = ''] = text.split('\n');
  const heads = [...head.matchAll(/\S+/g)];
  return Object.fromEntries(
    heads.map((found, index) => [found[0], line.slice(found.index, heads[index + 1]?.index).trim()]),
  );
}

const truth = (status: ManagedDeploymentStatus) => ({
  ACTIVE: String(status.activeRevision?.number ?? ''),
  READY: condition(status, 'Ready').split(' ')[0] ?? '',
  SERVING: condition(status, 'Serving').split(' ')[0] ?? '',
  STATUS: status.deploymentStatus ?? '',
  REASON: condition(status, 'Ready').split(' ')[1] ?? '',
  URL: status.url ?? '',
});

/** Event lines of `kubectl describe`: type, reason, message. */
async function story(name: string): Promise<string[]> {
  const text = await world.kubectl('describe', 'mdep', name);
  const events = text.slice(text.indexOf('\nEvents:'));
  return [...events.matchAll(/^ {2}(Normal|Warning)\s+(\w+)\s.*berth-operator\s+(.*)$/gm)].map(
    ([, type, reason, message]) => `${type} ${reason}: ${message}`,
  );
}

const hasEvent = (name: string, pattern: RegExp) =>
  waitFor(`${name} to tell ${pattern}`, async () => (await story(name)).some((line) => pattern.test(line)), {
    timeoutMs: 60_000,
    intervalMs: 300,
  });

describe.concurrent('kubectl', () => {
  test('get shows the state from creation to READY to a rolled-back failure, and describe shows why', async () => {
    const shop = app('shop');
    const url = `https://shop.${world.namespace}.example.com`;
    await shop.apply({ revision: { number: 1, image: IMAGE }, routing: { url } });
    await world.kubectl('wait', '--for=condition=Ready', 'mdep/shop', '--timeout=90s');
    const ready = await shop.ready();
    expect(await row('shop')).toMatchObject({ NAME: 'shop', REVISION: '1', ...truth(ready) });
    expect(truth(ready)).toMatchObject({ ACTIVE: '1', READY: 'True', STATUS: 'READY', URL: url });
    expect(await row('shop')).toMatchObject({
      SOURCE: 'external_image',
      IMAGE,
      ROLLOUT: 'RolloutComplete',
    });
    expect(await world.kubectl('rollout', 'status', 'deploy/shop-api')).toMatch(/successfully rolled out/);
    for (const reason of [
      'DatabaseAvailable',
      'CacheAvailable',
      'RolloutInProgress',
      'RolloutComplete',
      'Converged',
    ])
      await hasEvent('shop', new RegExp(`^Normal ${reason}: `));

    await shop.apply({ revision: { number: 2, image: BAD }, routing: { url } });
    const back = await shop.rolledBack();
    expect(await row('shop')).toMatchObject({ REVISION: '2', ...truth(back) });
    expect(truth(back)).toMatchObject({
      ACTIVE: '1',
      READY: 'False',
      SERVING: 'True',
      REASON: 'ImagePullFailed',
    });
    expect(await world.kubectl('rollout', 'status', 'deploy/shop-api')).toMatch(/successfully rolled out/);
    await hasEvent('shop', /^Warning RolloutFailed: revision 2 failed: api: pod \S+, container app: /);
    await hasEvent('shop', /^Normal RolledBack: revision 1 runs again: /);
    const described = await world.kubectl('describe', 'mdep', 'shop');
    expect(described).toMatch(/Failed Revision:[\s\S]*Reason:\s+ImagePullFailed/);
    const types = [...described.matchAll(/^ {4}Type:\s+(\w+)$/gm)].map(([, type]) => type);
    expect(types).toEqual([
      'DatabaseReady',
      'CacheReady',
      'ImageReady',
      'Progressing',
      'Serving',
      'RouteReady',
      'Ready',
      'Stalled',
    ]);
  });

  test('get and rollout status show a deployment that waits for data services, rolls out, or is off', async () => {
    const slow = app('slow');
    await slow.apply({
      revision: { number: 1, image: IMAGE },
      cache: { external: true },
      database: { image: 'registry.test/db:fail-image-pull' },
    });
    const waiting = await slow.until('waiting', (now) => condition(now, 'Ready') === 'False ImagePullFailed');
    expect(await row('slow')).toMatchObject({ REVISION: '1', ...truth(waiting) });
    expect(truth(waiting)).toMatchObject({ ACTIVE: '', STATUS: 'AWAITING_DATABASE', SERVING: 'False' });
    await expect(world.kubectl('rollout', 'status', 'deploy/slow-api')).rejects.toThrow(/not found/);

    const quick = app('quick');
    await quick.apply(appSpec(1, IMAGE));
    await quick.ready();
    await quick.apply(appSpec(2, 'registry.test/web:fail-never-ready'));
    const rolling = await quick.until(
      'rolling',
      (now) => condition(now, 'Progressing') === 'True RolloutInProgress',
    );
    expect(await row('quick')).toMatchObject({ REVISION: '2', ...truth(rolling) });
    expect(truth(rolling)).toMatchObject({ ACTIVE: '1', READY: 'False', REASON: 'RolloutInProgress' });
    await quick.apply(appSpec(3, 'registry.test/web:3'));
    await quick.ready();
    await hasEvent(
      'quick',
      /^Normal Interrupted: revision 3 replaced revision 2 before the rollout of revision 2 was complete/,
    );

    await quick.apply(appSpec(3, 'registry.test/web:3', { suspend: true }));
    const off = await quick.until('off', (now) => condition(now, 'Ready') === 'True SwitchedOff');
    expect(await row('quick')).toMatchObject({ REVISION: '3', ...truth(off) });
    expect(truth(off)).toMatchObject({
      STATUS: 'UNUSED',
      READY: 'True',
      SERVING: 'False',
      REASON: 'SwitchedOff',
    });
  });

  test('annotate pauses the operator, which writes only the status until the annotation is removed', async () => {
    const held = app('held');
    await held.apply(appSpec(1, IMAGE));
    await held.ready();
    await world.kubectl('annotate', 'mdep/held', 'berth.dev/paused=true');
    await world.kubectl('wait', '--for=condition=Paused', 'mdep/held', '--timeout=90s');
    const before = operator.requests.length;
    await held.apply(appSpec(2, 'registry.test/web:2'));
    await world.kubectl('delete', 'service', 'held');
    const status = await held.until('paused with work', (now) => condition(now, 'Ready') === 'False Paused');
    expect(await row('held')).toMatchObject({
      REVISION: '2',
      PAUSED: 'True',
      ...truth(status),
    });
    const writes = operator.requests
      .slice(before)
      .filter(({ verb, path }) => /create|patch|update|delete|apply/.test(verb) && path.includes('held'))
      .filter(({ path }) => !path.endsWith('/manageddeployments/held/status'));
    expect(writes).toEqual([]);
    await world.kubectl('annotate', 'mdep/held', 'berth.dev/paused-');
    expect((await held.ready()).activeRevision).toMatchObject({ number: 2 });
    expect(await world.get('service', 'held')).toBeDefined();
    await hasEvent('held', /^Normal Resumed: /);
    await world.kubectl('annotate', 'mdep/held', 'berth.dev/paused=true');
    await world.kubectl('delete', 'mdep', 'held');
    expect(await world.get('mdep', 'held')).toBeUndefined();
  });

  test('get shows until when a deletion can be cancelled, that it was, and what blocks its end', async () => {
    const leaving = app('leaving');
    await leaving.apply(appSpec(1, IMAGE));
    await leaving.ready();
    const [requestTime, restorableUntilTime] = ['2026-11-21T10:00:00.000Z', '2026-11-28T10:00:00.000Z'];
    await leaving.apply(appSpec(1, IMAGE, { suspend: true, deletion: { requestTime, restorableUntilTime } }));
    const asked = await leaving.until('off', (now) => now.suspended === true);
    expect(await row('leaving')).toMatchObject({
      RESTORABLEUNTIL: restorableUntilTime,
      ...truth(asked),
    });
    expect(truth(asked)).toMatchObject({
      STATUS: 'AWAITING_DELETE',
      READY: 'False',
      SERVING: 'False',
      REASON: 'DeletionRequested',
    });
    await hasEvent(
      'leaving',
      new RegExp(`^Normal DeletionRequested: .*can be restored until ${restorableUntilTime}`),
    );

    await leaving.apply(appSpec(1, IMAGE));
    expect(truth(await leaving.ready())).toMatchObject({ STATUS: 'READY', READY: 'True' });
    await hasEvent('leaving', /^Normal Restored: the deletion was cancelled/);

    const holding = (kind: string, finalizers: string[]) =>
      world.kubectl(
        'patch',
        kind,
        'leaving',
        '--type=merge',
        '-p',
        JSON.stringify({ metadata: { finalizers } }),
      );
    await holding('service', ['test.example/service']);
    await holding('mdep', ['test.example/hold']);
    await world.kubectl('delete', 'mdep', 'leaving', '--cascade=foreground', '--wait=false');
    const going = await leaving.until('going', (now) => condition(now, 'Ready') === 'False FinalizerBlocks');
    expect(truth(going)).toEqual({
      ACTIVE: '1',
      READY: 'False',
      SERVING: 'Unknown',
      STATUS: 'AWAITING_DELETE',
      REASON: 'FinalizerBlocks',
      URL: '',
    });
    expect(await row('leaving')).toMatchObject(truth(going));
    const described = await world.kubectl('describe', 'mdep', 'leaving');
    expect(described).toMatch(/Deletion Timestamp:/);
    const held = 'ManagedDeployment leaving is being deleted and is held by the finalizer test.example/hold';
    expect(described).toContain(held);
    await hasEvent('leaving', /^Warning FinalizerBlocks: ManagedDeployment leaving is being deleted/);
    const warnings = (await story('leaving')).filter((line) => line.startsWith('Warning'));
    expect(warnings.filter((line) => !line.startsWith('Warning FinalizerBlocks'))).toEqual([]);
    await holding('service', []);
    await waitFor(
      'nothing but its own finalizer',
      async () => {
        const { finalizers } = (await world.get('mdep', 'leaving'))?.metadata ?? {};
        return JSON.stringify(finalizers) === '["test.example/hold"]';
      },
      { timeoutMs: 90_000, intervalMs: 200 },
    );
    await holding('mdep', []);
    await waitFor('it to be gone', async () => (await world.get('mdep', 'leaving')) === undefined, {
      timeoutMs: 60_000,
    });
  });

  test('explain describes every field', async () => {
    // kubectl keeps what it knows of a cluster for a while; `get` brings it up to date.
    await world.kubectl('get', 'mdep');
    const text = await world.kubectl('explain', 'manageddeployments.status');
    expect(text).toMatch(/activeRevision[\s\S]*The active revision/);
    expect(await world.kubectl('explain', 'manageddeployments.spec.routing.url')).toMatch(/https URL/);
  });
});
