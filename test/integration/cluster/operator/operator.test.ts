import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../../../cluster/wait.ts';
import {
  condition,
  type OperatorWorld,
  operatorWorld,
  type RunningOperator,
  startOperator,
} from '../../harness/operator.ts';

let world: OperatorWorld;
let operator: RunningOperator;

beforeAll(async () => {
  world = await operatorWorld('operator');
  operator = await startOperator(world.settings);
});
afterAll(async () => {
  await operator.stop();
  await world.end();
});

const until = (what: string, check: () => Promise<boolean>) =>
  waitFor(what, check, { timeoutMs: 60_000, intervalMs: 100 });

interface DeploymentFields {
  spec: { replicas: number; template: { spec: { containers: { name: string; image: string }[] } } };
}

async function deployment(name: string): Promise<DeploymentFields['spec'] | undefined> {
  const object = await world.get('deployment', name);
  return (object as DeploymentFields | undefined)?.spec;
}

async function images(name: string): Promise<string[]> {
  return (await deployment(name))?.template.spec.containers.map(({ image }) => image) ?? [];
}

describe('a ManagedDeployment applied by hand, with no more than an image', () => {
  beforeAll(async () => {
    await world.apply('hello', { revision: { image: 'registry.test/hello:1' } });
    await world.kubectl('wait', '--for=condition=Ready', 'mdep/hello', '--timeout=60s');
  });

  test('runs, and is reported as READY', async () => {
    const status = await world.status('hello');
    expect(status).toMatchObject({
      observedGeneration: 1,
      deploymentStatus: 'READY',
      suspended: false,
      activeRevision: { number: 1, templates: 'hello-1', image: 'registry.test/hello:1' },
      components: [{ name: 'api', wanted: 1, updated: 1, ready: 1, available: 1 }],
    });
    expect(status.rollout).toBeUndefined();
    expect(
      ['DatabaseReady', 'CacheReady', 'ImageReady', 'Progressing', 'Serving'].map((type) =>
        condition(status, type),
      ),
    ).toEqual([
      'True DatabaseAvailable',
      'True CacheAvailable',
      'True ImageGiven',
      'False RolloutComplete',
      'True Available',
    ]);
    const pods = await world.names('pods', 'app.kubernetes.io/instance=hello');
    expect(pods.map((name) => name.split('-')[1]).sort()).toEqual(['api', 'cache', 'db']);
  });

  test('has owner references on its objects, except data', async () => {
    const uid = (await world.get('mdep', 'hello'))?.metadata.uid;
    for (const resource of [
      'deployment/hello-api',
      'statefulset/hello-db',
      'service/hello',
      'serviceaccount/hello',
    ]) {
      const [kind = '', name = ''] = resource.split('/');
      expect((await world.get(kind, name))?.metadata.ownerReferences).toMatchObject([
        { kind: 'ManagedDeployment', uid, controller: true, blockOwnerDeletion: true },
      ]);
    }
    for (const resource of ['pvc/hello-db', 'secret/hello-db', 'controllerrevision/hello-1']) {
      const [kind = '', name = ''] = resource.split('/');
      expect((await world.get(kind, name))?.metadata.ownerReferences).toBeUndefined();
    }
  });

  test('reports its history as Events', async () => {
    await until('the event of readiness', async () => {
      const events = await world.kubectl('events', '--for=ManagedDeployment/hello', '--output=json');
      const reasons = (JSON.parse(events) as { items: { reason: string }[] }).items.map(
        ({ reason }) => reason,
      );
      return ['DatabaseAvailable', 'RolloutInProgress', 'RolloutComplete', 'Converged'].every((reason) =>
        reasons.includes(reason),
      );
    });
  });

  test('is not written again, by this operator or the next one', async () => {
    await operator.stop();
    operator = await startOperator(world.another('next'));
    await until('the next operator to lead', async () => operator.state() === 'leading');
    // A change of another resource shows that it works its queue.
    await world.apply('marker', { suspend: true, revision: { image: 'registry.test/hello:1' } });
    await world.until('marker', 'off', ({ suspended }) => suspended === true);
    const calls = operator.requests.filter(
      ({ verb, path }) => verb !== 'list' && verb !== 'raw' && path.includes('hello'),
    );
    expect(calls).toEqual([]);
    await world.kubectl('delete', 'mdep', 'marker');
  });
});

describe('drift', () => {
  beforeAll(async () => {
    await world.apply('drift', {
      revision: { image: 'registry.test/drift:1' },
      routing: { url: 'https://drift.example.com' },
    });
    await world.ready('drift');
  });

  test.each([
    'service/drift',
    'ingress/drift',
    'deployment/drift-api',
    'statefulset/drift-db',
    'deployment/drift-cache',
    'networkpolicy/drift-db',
    'serviceaccount/drift',
    'controllerrevision/drift-1',
  ])('is corrected by the recreation of a deleted %s', async (resource) => {
    const [kind = '', name = ''] = resource.split('/');
    const before = (await world.get(kind, name))?.metadata.uid;
    await world.kubectl('delete', kind, name, '--wait=false');
    await until(`${resource} to be back`, async () => {
      const uid = (await world.get(kind, name))?.metadata.uid;
      return uid !== undefined && uid !== before;
    });
    const status = await world.ready('drift');
    expect(status.activeRevision).toMatchObject({ number: 1, templates: 'drift-1' });
  });

  test('is corrected in edited and removed fields; foreign labels and annotations stay', async () => {
    await world.kubectl('set', 'image', 'deployment/drift-api', 'app=registry.test/evil:1');
    await world.kubectl('label', 'deployment/drift-api', 'team=checkout');
    await world.kubectl('annotate', 'service/drift', 'note=mine');
    await world.kubectl('label', 'service/drift', 'app.kubernetes.io/part-of-');
    await until(
      'the image to be put back',
      async () => (await images('drift-api'))[0] === 'registry.test/drift:1',
    );
    await until('the label to be put back', async () => {
      return (
        (await world.get('service', 'drift'))?.metadata.labels?.['app.kubernetes.io/part-of'] === 'drift'
      );
    });
    await world.ready('drift');
    expect((await world.get('deployment', 'drift-api'))?.metadata.labels).toMatchObject({ team: 'checkout' });
    expect((await world.get('service', 'drift'))?.metadata.annotations).toMatchObject({ note: 'mine' });
  });

  test('is corrected in an object that lost the label by which it is watched', async () => {
    const before = (await world.get('service', 'drift'))?.metadata.uid;
    await world.kubectl('label', 'service/drift', 'app.kubernetes.io/managed-by-');
    await until('the label to be put back', async () => {
      return (
        (await world.get('service', 'drift'))?.metadata.labels?.['app.kubernetes.io/managed-by'] === 'berth'
      );
    });
    expect((await world.get('service', 'drift'))?.metadata.uid).toBe(before);
  });

  test('is reverted after kubectl scale', async () => {
    await world.kubectl('scale', 'deployment/drift-api', '--replicas=4');
    await until('one pod', async () => (await deployment('drift-api'))?.replicas === 1);
  });

  test('is reverted after kubectl rollout pause, because only the annotation pauses a deployment', async () => {
    await world.kubectl('rollout', 'pause', 'deployment/drift-api');
    await until('the Deployment to go on', async () => {
      const spec = (await world.get('deployment', 'drift-api'))?.['spec'] as { paused?: boolean };
      return spec.paused !== true;
    });
    await world.ready('drift');
  });

  test('stays while the deployment is paused, until the annotation is removed', async () => {
    await world.kubectl('annotate', 'mdep/drift', 'berth.dev/paused=true');
    await world.until('drift', 'paused', (status) => condition(status, 'Paused') === 'True Paused');
    await world.kubectl('delete', 'service', 'drift');
    await world.until('drift', 'not ready', (status) => condition(status, 'Ready') === 'False Paused');
    expect(await world.get('service', 'drift')).toBeUndefined();
    await world.kubectl('annotate', 'mdep/drift', 'berth.dev/paused-');
    const status = await world.ready('drift');
    expect(condition(status, 'Paused')).toBe('absent');
    expect(status.url).toBe('https://drift.example.com');
  });
});

describe('scale', () => {
  const spec = (more: object) => ({ revision: { image: 'registry.test/scale:1' }, ...more });
  const scale = (min: number, max: number) => ({ scale: { min, max } });

  test('uses an autoscaler if min is below max, then a fixed number again, then zero and back', async () => {
    await world.apply('scale', spec({ components: { api: scale(2, 5), queue: scale(1, 1) } }));
    await world.ready('scale');
    expect(await world.names('hpa')).toEqual(['scale-api']);
    expect(await world.names('pdb')).toEqual(['scale-api']);
    expect((await deployment('scale-api'))?.replicas).toBe(2);

    // Another number, as an autoscaler would write it, survives an apply of the template.
    await world.kubectl('scale', 'deployment/scale-api', '--replicas=4');
    await world.apply(
      'scale',
      spec({ components: { api: scale(2, 5), queue: scale(1, 1) }, podTemplate: { labels: { team: 'a' } } }),
    );
    const rolled = await world.ready('scale');
    expect(rolled.activeRevision).toMatchObject({ number: 1, templates: 'scale-1-2' });
    expect((await deployment('scale-api'))?.replicas).toBe(4);

    await world.apply(
      'scale',
      spec({ components: { api: scale(3, 3), queue: scale(1, 1) }, podTemplate: { labels: { team: 'a' } } }),
    );
    await world.ready('scale');
    expect([await world.names('hpa'), (await deployment('scale-api'))?.replicas]).toEqual([[], 3]);

    await world.apply('scale', spec({ suspend: true, components: { api: scale(1, 3), queue: scale(1, 1) } }));
    const off = await world.until('scale', 'off', (status) => status.suspended === true);
    expect(off).toMatchObject({ deploymentStatus: 'UNUSED', activeRevision: { number: 1 } });
    expect(await world.names('pods', 'app.kubernetes.io/instance=scale')).toEqual([]);
    expect(await world.names('hpa')).toEqual([]);

    await world.apply('scale', spec({ components: { api: scale(2, 3), queue: scale(1, 1) } }));
    const on = await world.ready('scale');
    expect(on).toMatchObject({ deploymentStatus: 'READY', suspended: false });
    expect(await world.names('hpa')).toEqual(['scale-api']);
  });

  test('removes a component that is no longer desired, with all its objects', async () => {
    await world.apply('scale', spec({ components: { api: scale(1, 1) } }));
    const status = await world.ready('scale');
    expect(status.components?.map(({ name }) => name)).toEqual(['api']);
    expect(await world.names('deployments', 'app.kubernetes.io/instance=scale')).toEqual([
      'scale-api',
      'scale-cache',
    ]);
    expect(await world.names('hpa,pdb', 'app.kubernetes.io/instance=scale')).toEqual([]);
  });

  test('has its own field manager once it was changed', async () => {
    const text = await world.kubectl(
      'get',
      'deployment',
      'scale-api',
      '--output=json',
      '--show-managed-fields',
    );
    const { managedFields = [] } = (
      JSON.parse(text) as {
        metadata: { managedFields?: { manager: string; fieldsV1: { 'f:spec'?: object } }[] };
      }
    ).metadata;
    const owners = managedFields.filter(({ fieldsV1 }) =>
      Object.hasOwn(fieldsV1['f:spec'] ?? {}, 'f:replicas'),
    );
    expect(owners.map(({ manager }) => manager)).toEqual(['berth-replicas']);
  });
});

describe('revisions', () => {
  const spec = (image: string, number: number, more: object = {}) => ({
    revision: { number, image: `registry.test/${image}` },
    ...more,
  });

  test('become active when they run; fields dropped from the template are removed', async () => {
    const sidecars = [{ name: 'log', image: 'registry.test/log:1' }];
    await world.apply('roll', spec('roll:1', 1, { podTemplate: { sidecars } }));
    await world.ready('roll');
    await world.apply('roll', spec('roll:2', 2));
    const status = await world.ready('roll');
    expect(status.activeRevision).toMatchObject({
      number: 2,
      templates: 'roll-2',
      image: 'registry.test/roll:2',
    });
    expect(await images('roll-api')).toEqual(['registry.test/roll:2']);
  });

  test('stay inactive while they do not become ready; the former one serves, and the status names the cause', async () => {
    const failing = { podTemplate: { labels: { 'sim.example/fail': 'image-pull' } } };
    await world.apply('roll', spec('roll:3', 3, failing));
    const stuck = await world.until('roll', 'stuck', ({ conditions = [] }) =>
      conditions.some(({ message }) => message.includes('ImagePullBackOff')),
    );
    expect(stuck).toMatchObject({
      deploymentStatus: 'READY',
      activeRevision: { number: 2 },
      rollout: { number: 3, templates: 'roll-3' },
    });
    expect([condition(stuck, 'Progressing'), condition(stuck, 'Serving')]).toEqual([
      'True RolloutInProgress',
      'True Available',
    ]);
    await world.apply('roll', spec('roll:4', 4));
    expect((await world.ready('roll')).activeRevision).toMatchObject({ number: 4 });
  });

  test('do not restart when an operator renders differently', async () => {
    const before = await world.get('deployment', 'roll-api');
    await operator.stop();
    operator = await startOperator(
      world.another('upgraded', { otlpEndpoint: 'http://collector:4318', healthPath: '/healthz' }),
    );
    await until('the next operator to lead', async () => operator.state() === 'leading');
    await world.apply('roll', spec('roll:4', 4, { components: { api: { scale: { min: 2, max: 2 } } } }));
    await world.ready('roll');
    const after = await world.get('deployment', 'roll-api');
    const template = (object: typeof before) =>
      (object?.['spec'] as { template: object } | undefined)?.template;
    expect(template(after)).toEqual(template(before));
  });

  test('survive with their data if the custom resource is deleted by mistake and applied again', async () => {
    const kept = async () =>
      [await world.get('pvc', 'roll-db'), await world.get('secret', 'roll-db')].map(
        (object) => object?.metadata.uid,
      );
    const before = await kept();
    const spec4 = spec('roll:4', 4);
    await world.kubectl('delete', 'mdep', 'roll');
    await world.apply('roll', spec4);
    const status = await world.ready('roll');
    expect(status.activeRevision).toMatchObject({ number: 4 });
    expect(await kept()).toEqual(before);
  });
});

test('deletes everything except the data with the custom resource', async () => {
  await world.apply('short', { revision: { image: 'registry.test/short:1' } });
  await world.ready('short');
  await world.kubectl('delete', 'mdep', 'short', '--cascade=foreground');
  await until('nothing owned to be left', async () => {
    return (
      (
        await world.names(
          'deployments,statefulsets,services,serviceaccounts,networkpolicies',
          'app.kubernetes.io/instance=short',
        )
      ).length === 0
    );
  });
  expect(await world.names('pvc', 'app.kubernetes.io/instance=short')).toEqual(['short-db']);
});
