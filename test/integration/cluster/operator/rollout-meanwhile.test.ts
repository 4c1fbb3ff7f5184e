/**
 * The active revision while another one is requested: it is reconciled, follows source_config, and its status is
 * correct.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeClient } from '../../../../src/cluster/kube/client/client.ts';
import type { UntypedObject } from '../../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../../src/cluster/kube/client/resources.ts';
import type { ManagedDeploymentStatus } from '../../../../src/contract/resource/managed-deployment.ts';
import { waitFor } from '../../../cluster/wait.ts';
import { createNamespace, deleteNamespace, kubectlAsAdmin } from '../../harness/environment.ts';
import {
  condition,
  type OperatorWorld,
  operatorWorld,
  type RunningOperator,
  startOperator,
} from '../../harness/operator.ts';
import { App, adminClient, appSpec } from '../../harness/rollouts.ts';

const DEADLINE_SECONDS = 30;
const GOOD = 'registry.test/app:1';
const BAD = 'registry.test/app:fail-invalid-image';

let world: OperatorWorld;
let operator: RunningOperator;
let client: KubeClient;
/** Has a quota that admits no volume claims. */
let full: string;

beforeAll(async () => {
  world = await operatorWorld('meanwhile');
  full = await createNamespace('full');
  client = await adminClient();
  const settings = world.another('one', { progressDeadlineSeconds: DEADLINE_SECONDS });
  operator = await startOperator({ ...settings, moreNamespaces: [full] });
});
afterAll(async () => {
  await operator.stop();
  await client.close();
  await Promise.all([world.end(), deleteNamespace(full)]);
});

const app = (name: string, namespace = world.namespace) => new App(client, namespace, name);
const scale = (min: number, max = min) => ({ scale: { min, max } });
const message = (status: ManagedDeploymentStatus, type: string) =>
  status.conditions?.find((found) => found.type === type)?.message ?? '';
const until = (what: string, check: () => Promise<boolean>) =>
  waitFor(what, check, { timeoutMs: 90_000, intervalMs: 200 });
const failed = (status: ManagedDeploymentStatus) => condition(status, 'Progressing') === 'False RolledBack';
const urlOf = (name: string) => `https://${name}.example.com`;

async function replicas(shop: App, component: string): Promise<number | undefined> {
  return (await shop.workloads())[`${shop.name}-${component}`]?.replicas as number | undefined;
}

async function hosts(shop: App): Promise<(string | undefined)[]> {
  const routes = await shop.list(RESOURCES.Ingress);
  return routes.flatMap((route) => {
    const spec = route['spec'] as { rules?: { host?: string }[] };
    return spec.rules?.map(({ host }) => host) ?? [];
  });
}

describe.concurrent('a change of source_config after a revision that failed', () => {
  const sidecar = { name: 'log', image: 'registry.test/log:fail-invalid-image' };
  const labelled = (team: string, more: object = {}) => ({ podTemplate: { labels: { team }, ...more } });

  test('reaches the active revision in place; one that fails is rolled back, and both failures are reported', async () => {
    const shop = app('follows');
    await shop.apply(appSpec(1, GOOD));
    await shop.ready();
    await shop.apply(appSpec(2, BAD));
    await shop.rolledBack();
    const serving = await shop.watchServing(null, { api: 1 });
    await shop.apply(appSpec(2, BAD, labelled('a')));
    const changed = await shop.until(
      'changed in place',
      (status) => failed(status) && status.activeRevision?.templates === 'follows-1-2',
    );
    const template = async () => {
      const { template } = (await shop.workloads())['follows-api'] ?? {};
      const { metadata, spec } = template as {
        metadata: { labels: Record<string, string> };
        spec: { containers: { image: string }[] };
      };
      return [metadata.labels['team'], metadata.labels['berth.dev/revision-id'], spec.containers[0]?.image];
    };
    expect(await template()).toEqual(['a', 'r1', GOOD]);
    expect(changed).toMatchObject({ failedRevision: { id: 'r2' }, activeRevision: { id: 'r1' } });
    expect([condition(changed, 'Ready'), condition(changed, 'Serving'), changed.failedChange]).toEqual([
      'False InvalidImageName',
      'True Available',
      undefined,
    ]);

    await shop.apply(appSpec(2, BAD, labelled('b', { sidecars: [sidecar] })));
    const turned = await shop.until('rolled back', (status) => failed(status) && !!status.failedChange);
    expect(turned.failedChange).toMatchObject({
      id: 'r1',
      reason: 'InvalidImageName',
      failureSource: { component: 'api', container: 'log', containerKind: 'sidecar' },
    });
    expect(turned).toMatchObject({
      failedRevision: { id: 'r2' },
      activeRevision: { id: 'r1', templates: 'follows-1-2' },
    });
    expect(message(turned, 'Ready')).toMatch(/revision 1 also failed: .*container log/);
    expect(await template()).toEqual(['a', 'r1', GOOD]);

    // A rollback creates a new revision. It has the current source_config, and its failure source is reported.
    await shop.apply(appSpec(3, GOOD, labelled('b', { sidecars: [sidecar] })));
    const again = await shop.until('failed again', ({ failedRevision }) => failedRevision?.id === 'r3');
    expect(again.failedRevision?.failureSource).toMatchObject({ container: 'log' });
    await shop.rolledBack();
    await shop.apply(appSpec(4, GOOD, labelled('b')));
    const ready = await shop.ready();
    expect([ready.failedRevision, ready.failedChange]).toEqual([undefined, undefined]);
    expect(await serving.stop()).toEqual([]);
  });

  test('may change pool size and scale at once, and pods and their connections stay consistent', async () => {
    const of = (poolSize: number, count: number) => ({
      database: { poolSize, external: false },
      components: { api: scale(count) },
    });
    const shop = app('budget');
    await shop.apply(appSpec(1, GOOD, of(16, 2)));
    await shop.ready();
    // What came with the revision goes with it: its pods of 16 connections each stay as many as they were.
    await shop.apply(appSpec(2, BAD, of(4, 6)));
    const back = await shop.rolledBack();
    expect(await replicas(shop, 'api')).toBe(2);
    expect(message(back, 'Progressing')).toMatch(/revision 1 keeps its source_config until the next change/);
    await shop.apply(appSpec(2, BAD, of(5, 5)));
    await shop.until('changed', (now) => failed(now) && now.activeRevision?.templates === 'budget-1-2');
    expect(await replicas(shop, 'api')).toBe(5);
  });

  test('restores a component that the failed revision lacked, also after a switch-off', async () => {
    const shop = app('component');
    const both = { components: { api: scale(1), queue: scale(2, 5) } };
    const one = { components: { api: scale(1) } };
    await shop.apply(appSpec(1, GOOD, both));
    await shop.ready();
    const scaling = async () => {
      const found: UntypedObject[] = [
        ...(await shop.list(RESOURCES.HorizontalPodAutoscaler)),
        ...(await shop.list(RESOURCES.PodDisruptionBudget)),
      ];
      return found.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    };
    const before = await scaling();
    expect(before).toHaveLength(2);
    await shop.apply(appSpec(2, BAD, one));
    await shop.rolledBack();
    await until('its autoscaler', async () => (await scaling()).length === 2);
    await shop.apply(appSpec(2, BAD, { ...one, suspend: true }));
    await shop.until('off', ({ suspended }) => suspended === true);
    await shop.apply(appSpec(2, BAD, one));
    await shop.rolledBack();
    await until('its pods', async () => (await replicas(shop, 'queue')) === 2);
    await until('its autoscaler', async () => (await scaling()).length === 2);
    expect(await scaling()).toEqual(before);
  });
});

describe.concurrent('a revision that waits for a database of its own', () => {
  test('does not stop the reconcile of the active revision, and has a deadline', async () => {
    await kubectlAsAdmin(['create', 'quota', 'none', '-n', full, '--hard=persistentvolumeclaims=0']);
    const shop = app('waits', full);
    const at = (url: string, count = 1) => ({ routing: { url }, components: { api: scale(count) } });
    await shop.apply(appSpec(1, GOOD, at(urlOf('waits-one'))));
    await shop.ready();
    const second = (more: object) =>
      appSpec(2, 'registry.test/app:2', { ...more, database: { external: false } });
    await shop.apply(second(at(urlOf('waits-one'))));
    const waiting = await shop.until('waiting', ({ awaiting }) => awaiting?.id === 'r2');
    expect([waiting.deploymentStatus, waiting.rollout, condition(waiting, 'DatabaseReady')]).toEqual([
      'READY',
      undefined,
      'True ExternalDatabase',
    ]);
    expect(condition(waiting, 'Progressing')).toBe('True AwaitingDataServices');
    expect(condition(waiting, 'Ready')).toMatch(/^False/);
    await shop.apply(second(at(urlOf('waits-two'), 3)));
    await until('3 pods', async () => (await replicas(shop, 'api')) === 3);
    await until('the other host', async () => (await hosts(shop)).join() === 'waits-two.example.com');
    await kubectlAsAdmin(['delete', 'deployment', 'waits-api', '-n', full]);
    await until('its Deployment', async () => (await replicas(shop, 'api')) === 3);
    const over = await shop.until('over', ({ failedRevision }) => failedRevision?.id === 'r2');
    expect(over.failedRevision?.message).toMatch(
      /^the database is not ready yet: .*not complete within 30 s/,
    );
    const after = await shop.rolledBack();
    expect([after.deploymentStatus, after.activeRevision?.id, condition(after, 'Serving')]).toEqual([
      'READY',
      'r1',
      'True Available',
    ]);
  });
});

describe.concurrent('the deadline', () => {
  test('applies although source_config changes all the time', async () => {
    const shop = app('restless');
    await shop.apply(appSpec(1, GOOD));
    await shop.ready();
    const never = (team: number) =>
      appSpec(2, 'registry.test/app:fail-never-ready', { podTemplate: { labels: { team: `t${team}` } } });
    const began = Date.now();
    let changes = 0;
    const status = await waitFor(
      'the failure',
      async () => {
        changes += 1;
        await shop.apply(never(changes));
        const now = await shop.status();
        return now.failedRevision?.id === 'r2' && now;
      },
      { timeoutMs: 90_000, intervalMs: 2_500 },
    );
    expect(changes).toBeGreaterThan(3);
    expect(status.failedRevision?.message).toMatch(/not complete within 30 s/);
    expect(Date.now() - began).toBeGreaterThanOrEqual(DEADLINE_SECONDS * 1000);
  });
});

describe.concurrent('an active revision', () => {
  test('serves through rollouts and a switch-off without warnings', async () => {
    const shop = app('calm');
    for (const revision of [1, 2, 3]) {
      await shop.apply(appSpec(revision, `registry.test/app:${revision}`));
      await shop.ready();
    }
    await shop.apply(appSpec(3, 'registry.test/app:3', { suspend: true }));
    await shop.until('off', ({ suspended }) => suspended === true);
    expect(await shop.events('Unavailable')).toBe(0);
  });

  test('loses its route with the URL, although the first revision failed', async () => {
    const shop = app('routeless');
    await shop.apply(appSpec(1, BAD, { routing: { url: urlOf('routeless') } }));
    await shop.until('failed', (status) => condition(status, 'Progressing') === 'False RolloutFailed');
    await until('the route', async () => (await hosts(shop)).length === 1);
    await shop.apply(appSpec(1, BAD));
    await until('no route', async () => (await hosts(shop)).length === 0);
    await shop.until('without a URL', ({ url }) => url === undefined);
  });
});

describe.concurrent('a database whose volume claim is being deleted', () => {
  test('is neither restarted nor stopped, and its status says how to save the data', async () => {
    const shop = app('claim');
    const spec = (maxConnections: number, more: object = {}) =>
      appSpec(1, GOOD, { database: { external: false, maxConnections }, ...more });
    await shop.apply(spec(100));
    await shop.ready();
    const uids = async () => {
      const pods = await shop.list(RESOURCES.Pod, 'app.kubernetes.io/component=database');
      const claims = await shop.list(RESOURCES.PersistentVolumeClaim);
      return [...pods, ...claims].map(({ metadata }) => metadata.uid);
    };
    const before = await uids();
    expect(before).toHaveLength(2);
    await world.kubectl('delete', 'pvc', 'claim-db', '--wait=false');
    await shop.until('at risk', (now) => condition(now, 'DatabaseReady') === 'False VolumeBeingDeleted');
    await shop.apply(spec(240));
    const reported = await shop.until(
      'still so',
      (now) => condition(now, 'Ready') === 'False VolumeBeingDeleted',
    );
    expect(reported.deploymentStatus).toBe('READY');
    expect(message(reported, 'Ready')).toMatch(/kubectl patch pv \S+ -p .*Retain/);
    await shop.apply(spec(240, { suspend: true }));
    await until('no api pod', async () => (await replicas(shop, 'api')) === 0);
    await shop.until('at risk', (now) => condition(now, 'Ready') === 'False VolumeBeingDeleted');
    expect(await uids()).toEqual(before);
    expect(await shop.events('VolumeBeingDeleted')).toBeGreaterThan(0);
  });
});
