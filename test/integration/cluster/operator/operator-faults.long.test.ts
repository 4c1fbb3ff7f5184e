import type { ChildProcess } from 'node:child_process';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createKubeClient } from '../../../../src/cluster/kube/client/client.ts';
import { RESOURCES } from '../../../../src/cluster/kube/client/resources.ts';
import { runOperator } from '../../../../src/cluster/operator/operator.ts';
import { writeServiceAccountKubeconfig } from '../../../cluster/kubectl.ts';
import { waitFor } from '../../../cluster/wait.ts';
import { environment } from '../../harness/environment.ts';
import {
  condition,
  forkOperator,
  type OperatorWorld,
  operatorWorld,
  startOperator,
} from '../../harness/operator.ts';
import { adminClient } from '../../harness/rollouts.ts';

let world: OperatorWorld;

beforeAll(async () => {
  world = await operatorWorld('faults');
});
afterAll(() => world.end());

const IMAGE = 'registry.test/app:1';
const until = (what: string, check: () => Promise<boolean>) =>
  waitFor(what, check, { timeoutMs: 60_000, intervalMs: 100 });

describe('operator processes', () => {
  const processes: ChildProcess[] = [];
  const states = new Map<ChildProcess, string>();
  const start = (identity: string) => {
    const child = forkOperator(world.another(identity));
    processes.push(child);
    child.on('message', (state) => states.set(child, String(state)));
    return child;
  };
  const leads = (child: ChildProcess) => states.get(child) === 'leading';
  const ended = (child: ChildProcess) =>
    child.exitCode !== null || child.signalCode !== null
      ? Promise.resolve()
      : new Promise<void>((resolve) => child.once('exit', () => resolve()));

  afterEach(async () => {
    for (const child of processes.splice(0)) {
      child.kill('SIGKILL');
      await ended(child);
    }
  });

  test('elect one leader of two operators; when it stops gracefully, the other one takes over at once', async () => {
    const one = start('one');
    const two = start('two');
    await until('a leader', async () => leads(one) || leads(two));
    const [leader, candidate] = leads(one) ? [one, two] : [two, one];
    expect(leads(candidate)).toBe(false);
    await world.apply('elected', { revision: { image: IMAGE } });
    await world.ready('elected');
    leader.kill('SIGTERM');
    await ended(leader);
    expect(leader.exitCode).toBe(0);
    await until('the other to lead', async () => leads(candidate));
    await world.apply('elected', { revision: { image: 'registry.test/app:2', number: 2 } });
    expect((await world.ready('elected')).activeRevision).toMatchObject({ number: 2 });
  });

  test('complete a creation or rollout after a kill at any moment, and create nothing twice', async () => {
    const uids = new Map<string, string>();
    const volumeOf = async (name: string) => (await world.get('pvc', `${name}-db`))?.metadata.uid;
    for (const [round, delayMs] of [0, 80, 250, null].entries()) {
      const name = `killed-${round}`;
      const first = start('victim');
      await until('the victim to lead', async () => leads(first));
      await world.apply(name, { revision: { image: IMAGE } });
      // The moment is the point here, not a wait for something. Only the last one is certainly after the first creation.
      if (delayMs === null) await until('the volume', async () => (await volumeOf(name)) !== undefined);
      else await new Promise((resolve) => setTimeout(resolve, delayMs));
      first.kill('SIGKILL');
      await ended(first);
      const volume = await volumeOf(name);
      if (volume !== undefined) uids.set(name, volume);
      start('successor');
      const status = await world.ready(name);
      expect(status.activeRevision).toMatchObject({ number: 1, templates: `${name}-1` });
      if (volume !== undefined) expect(await volumeOf(name)).toBe(volume);
      // Beside the stored templates there is what stands for the data services' Secrets.
      const stored = `app.kubernetes.io/instance=${name},berth.dev/inputs-hash,!berth.dev/witness`;
      expect(await world.names('controllerrevisions', stored)).toEqual([`${name}-1`]);
      for (const child of processes.splice(0)) {
        child.kill('SIGTERM');
        await ended(child);
      }
    }
    expect(uids.size).toBeGreaterThan(0);
    // Four rounds, each with two operators, one lease that runs out and one deployment from nothing.
  }, 300_000);

  test('keep the start time of a stuck rollout after a kill', async () => {
    const first = start('victim');
    await until('the victim to lead', async () => leads(first));
    await world.apply('hangs', { revision: { image: IMAGE } });
    await world.ready('hangs');
    const failing = { podTemplate: { labels: { 'sim.example/fail': 'never-ready' } } };
    await world.apply('hangs', { revision: { image: 'registry.test/app:2', number: 2 }, ...failing });
    const before = await world.until('hangs', 'rolling', ({ rollout }) => rollout?.number === 2);
    first.kill('SIGKILL');
    await ended(first);
    const second = start('successor');
    await until('the successor to lead', async () => leads(second));
    await world.apply('hangs', {
      revision: { image: 'registry.test/app:2', number: 2 },
      ...failing,
      routing: { url: 'https://hangs.example.com' },
    });
    const after = await world.until('hangs', 'seen by the successor', ({ url }) => url !== undefined);
    expect(after.rollout).toEqual(before.rollout);
    expect(after).toMatchObject({ deploymentStatus: 'READY', activeRevision: { number: 1 } });
    expect([condition(after, 'Serving'), condition(after, 'Ready')]).toEqual([
      'True Available',
      'False RolloutInProgress',
    ]);
  });
});

describe('a rejected action', () => {
  test('is not repeated on a foreign object of the same name, and succeeds once that object is gone', async () => {
    await world.kubectl('create', 'service', 'clusterip', 'taken', '--tcp=80:80');
    const operator = await startOperator(world.another('conflict'));
    await world.apply('taken', { revision: { image: IMAGE } });
    const status = await world.until(
      'taken',
      'in conflict',
      (now) => condition(now, 'Ready') === 'False Conflict' && now.activeRevision !== undefined,
    );
    expect(condition(status, 'Serving')).toBe('True Available');
    const foreign = await world.get('service', 'taken');
    expect(foreign?.metadata.ownerReferences).toBeUndefined();
    expect(foreign?.metadata.labels).toEqual({ app: 'taken' });
    await world.kubectl('delete', 'service', 'taken');
    // Any event leads to another look, once the pause after the refusal is over.
    await until('its own service', async () => {
      await world.kubectl('annotate', 'deployment/taken-api', `look=${Date.now()}`, '--overwrite');
      return (await world.get('service', 'taken'))?.metadata.ownerReferences !== undefined;
    });
    await world.ready('taken');
    await operator.stop();
  });

  test('is reported with the field that the API server rejects', async () => {
    const operator = await startOperator(world.another('refused'));
    await world.apply('refused', {
      revision: { image: IMAGE },
      components: {
        api: { scale: { min: 1, max: 1 }, resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } },
      },
    });
    const status = await world.until(
      'refused',
      'refused',
      (now) => condition(now, 'Ready') === 'False Refused',
    );
    const message = status.conditions?.find(({ type }) => type === 'Ready')?.message;
    expect(message).toContain('Deployment refused-api: spec.template.spec.containers[0].resources.requests');
    expect(status.activeRevision).toBeUndefined();
    await world.apply('refused', { revision: { image: IMAGE } });
    await world.ready('refused');
    await operator.stop();
  });

  test('is reported when a storage class cannot expand a volume', async () => {
    const operator = await startOperator(world.another('grows'));
    await world.apply('grows', { revision: { image: IMAGE }, database: { storage: '1Gi' } });
    await world.ready('grows');
    await world.apply('grows', { revision: { image: IMAGE }, database: { storage: '2Gi' } });
    await world.ready('grows');
    const claim = await world.get('pvc', 'grows-db');
    expect(claim).toMatchObject({ status: { capacity: { storage: '2Gi' } } });
    await operator.stop();

    const rigid = await startOperator(world.another('rigid', { storageClass: 'fixed-size' }));
    await world.apply('rigid', { revision: { image: IMAGE }, database: { storage: '1Gi' } });
    await world.ready('rigid');
    await world.apply('rigid', { revision: { image: IMAGE }, database: { storage: '2Gi' } });
    const status = await world.until(
      'rigid',
      'stuck',
      (now) => condition(now, 'DatabaseReady') === 'False VolumeNotExpandable',
    );
    expect(condition(status, 'Serving')).toBe('True Available');
    await rigid.stop();
  });

  test('is reported with the missing rights and the remedy', async () => {
    const account = { namespace: world.namespace, name: 'nobody' };
    await world.kubectl('create', 'serviceaccount', account.name);
    const path = `${world.settings.kubeconfigPath}.nobody`;
    await writeServiceAccountKubeconfig(environment(), account, path);
    const client = await createKubeClient({
      kubeconfigPath: path,
      userAgent: 'berth-test',
      requestTimeoutMs: 10_000,
    });
    const { config, lease } = world.settings;
    const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
    await expect(
      runOperator(
        { client, config, lease, namespaces: [world.namespace], identity: 'nobody', logger },
        new AbortController().signal,
      ),
    ).rejects.toThrow(
      /may not get manageddeployments\.berth\.dev.*kubectl apply with the manifests that were rendered/,
    );
    await client.close();
  });
});

test('applies the last of fifty changes 100 ms apart, with few applies', async () => {
  const operator = await startOperator(world.another('hurried'));
  await world.apply('hurried', { revision: { image: IMAGE } });
  await world.ready('hurried');
  const before = operator.requests.length;
  // Over one connection: a kubectl for each takes so long on a busy machine that every change rolls out in peace.
  const admin = await adminClient();
  for (let number = 2; number <= 51; number += 1) {
    const patch = { spec: { revision: { number, image: `registry.test/app:${number}` } } };
    await admin.patch(RESOURCES.ManagedDeployment, { namespace: world.namespace, name: 'hurried' }, patch);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await admin.close();
  const status = await world.ready('hurried');
  expect(status.activeRevision).toMatchObject({ number: 51 });
  const applies = operator.requests
    .slice(before)
    .filter(({ verb, resource }) => verb === 'apply' && resource === 'deployments');
  expect(applies.length).toBeLessThan(25);
  await operator.stop();
});
