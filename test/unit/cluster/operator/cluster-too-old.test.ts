import { expect, test } from 'vitest';
import { CONFIG, NAMESPACE, RESOURCE_ID, World } from './fixtures.ts';

/** Kubernetes before 1.35 does not support restartPolicy Never for a container. */
const OLD = { ...CONFIG, kubernetesVersion: '1.34' };
const PLAIN = { revision: { image: 'web:1' } };
const TOO_NEW = {
  revision: { image: 'web:1' },
  podTemplate: { sidecars: [{ name: 'once', image: 'once:1', restartPolicy: 'Never' }] },
};
const API = `Deployment/${NAMESPACE}/web-api`;

function oldWorld(spec: typeof PLAIN): World {
  const world = new World(spec);
  world.restart(OLD);
  return world;
}

const refused = (world: World) => {
  expect(world.condition('Ready')).toBe('False Refused');
  const message = world.status.conditions?.find(({ type }) => type === 'Ready')?.message;
  expect(message).toContain('spec.podTemplate.sidecars[0].restartPolicy: Never needs Kubernetes 1.35');
};

test('rejects a field that needs a newer cluster before anything is sent', async () => {
  const world = oldWorld(TOO_NEW);
  await world.converge();
  refused(world);
  expect(world.cluster.get(API)).toBeUndefined();
  expect(world.status.activeRevision).toBeUndefined();
});

test('keeps reconciling the running revision after the rejection, and applies the next change', async () => {
  const world = oldWorld(PLAIN);
  await world.converge();
  const active = world.status.activeRevision;
  world.change(TOO_NEW);
  await world.converge();
  refused(world);
  expect(world.status.activeRevision).toEqual(active);
  expect(world.condition('Serving')).toBe('True Available');

  world.cluster.remove(API);
  await world.converge();
  expect(JSON.stringify(world.cluster.get(API))).not.toContain('once:1');
  expect(world.images('api')).toContain('web:1');

  world.change({ ...PLAIN, revision: { image: 'web:2' } });
  await world.converge();
  expect(world.condition('Ready')).toBe('True Converged');
  expect(world.images('api')).toContain('web:2');
  expect(world.cluster.get(RESOURCE_ID)).toBeDefined();
});

test('reports a rejected revision of the hub as failed', async () => {
  const world = oldWorld({
    ...TOO_NEW,
    revision: { ...TOO_NEW.revision, id: 'r1', number: 1 },
  } as typeof PLAIN);
  await world.converge();
  refused(world);
  expect(world.status.failedRevision).toMatchObject({ id: 'r1', number: 1, reason: 'Refused' });
});

test('accepts the field in a newer cluster', async () => {
  const world = new World(TOO_NEW);
  await world.converge();
  expect(world.condition('Ready')).toBe('True Converged');
});
