import { describe, expect, test } from 'vitest';
import { CONFIG, message, NAMESPACE, revised, steps, template, World } from './fixtures.ts';
import {
  change,
  marker,
  POLL_MS,
  reference,
  secret,
  serving,
  storedNames,
} from './secret-reference-fixtures.ts';

/** After a failure, the active revision runs with the current values of its Secrets, and with its former source_config. */

const labelled = (team: string) => ({ labels: { team } });
const payments = (more: object = {}) => ({
  podTemplate: { ...reference('payments').podTemplate, ...more },
});
/** Kubernetes before 1.35 does not support restartPolicy Never for a container. */
const TOO_NEW = {
  ...labelled('bad'),
  sidecars: [{ name: 'once', image: 'o:1', restartPolicy: 'Never' }],
};
const absent = (more: object = {}) => ({ podTemplate: { ...reference('absent').podTemplate, ...more } });

/** Ways in which a newer revision, or a change of the source_config of the active revision, fails. */
const FAILURES: [what: string, spec: object, isStuck: boolean, failed: object][] = [
  [
    'a newer revision has failed',
    revised('web:2', 2, absent()),
    false,
    { number: 2, reason: 'SecretReferenceMissing' },
  ],
  [
    'a newer revision has failed with its source_config',
    revised('web:2', 2, absent(labelled('bad'))),
    false,
    { number: 2, reason: 'SecretReferenceMissing' },
  ],
  [
    'a newer revision has failed in its rollout',
    revised('web:2', 2, payments(labelled('bad'))),
    true,
    { number: 2, reason: 'InvalidImageName' },
  ],
  [
    'a change of its source_config was refused',
    revised('web:1', 1, payments(TOO_NEW)),
    false,
    { number: 1, reason: 'Refused' },
  ],
  [
    'a change of its source_config has failed in its rollout',
    revised('web:1', 1, payments(labelled('bad'))),
    true,
    { number: 1, reason: 'InvalidImageName' },
  ],
];

async function afterFailure(spec: object, isStuck: boolean): Promise<World> {
  const world = await serving();
  world.restart({ ...CONFIG, kubernetesVersion: '1.34' });
  await world.converge();
  if (isStuck) world.cluster.stuck.set('api', 'InvalidImageName');
  world.change(spec as never);
  await steps(world, 15);
  world.cluster.stuck.clear();
  await world.converge();
  return world;
}

/** Changes the value, and runs the operator for four intervals of its reads. */
async function rotate(world: World, value: string): Promise<void> {
  change(world, 'payments', { 'api-key': value });
  for (let poll = 0; poll < 4; poll += 1) {
    world.now += POLL_MS;
    await world.converge();
  }
}

const isQuiet = async (world: World) => {
  world.now += POLL_MS;
  expect(await world.converge()).toEqual([]);
  world.restart();
  expect(await world.converge()).toEqual([]);
};

describe.each(FAILURES)('while %s, a changed value', (_what, spec, isStuck, failed) => {
  test('replaces the pods of the active revision, each time once', async () => {
    const world = await afterFailure(spec, isStuck);
    expect(world.status).toMatchObject({ activeRevision: { number: 1 }, failedRevision: failed });
    const markers = [marker(world)];
    for (const value of ['second', 'third']) {
      await rotate(world, value);
      markers.push(marker(world));
      expect(world.status).toMatchObject({ activeRevision: { number: 1 }, failedRevision: failed });
      expect(world.status.failedChange).toBeUndefined();
      expect(world.images('api')).toEqual(['web:1']);
      expect(template(world, 'api')).not.toMatchObject({ metadata: { labels: { team: 'bad' } } });
      await isQuiet(world);
    }
    expect(new Set(markers).size).toBe(3);
    await rotate(world, 's3cret-value');
    expect(marker(world)).toBe(markers[0]);
  });

  test('leaves the former pods when the app does not start with it', async () => {
    const world = await afterFailure(spec, isStuck);
    const before = template(world, 'api');
    world.cluster.stuck.set('api', 'InvalidImageName');
    change(world, 'payments', { 'api-key': 'bad' });
    world.now += POLL_MS;
    await steps(world, 15);
    world.cluster.stuck.clear();
    await world.converge();
    expect(template(world, 'api')).toEqual(before);
    expect(world.status).toMatchObject({
      activeRevision: { number: 1 },
      failedRevision: failed,
      failedChange: { number: 1, reason: 'InvalidImageName' },
    });
    const stored = storedNames(world);
    await isQuiet(world);
    expect(storedNames(world)).toEqual(stored);
    await rotate(world, 'good');
    expect(template(world, 'api')).not.toEqual(before);
    expect(world.status.failedRevision).toMatchObject(failed);
    expect(world.status.failedChange).toBeUndefined();
  });

  test('changes nothing while the Secret is missing or refused', async () => {
    const world = await afterFailure(spec, isStuck);
    const before = template(world, 'api');
    world.cluster.remove(`Secret/${NAMESPACE}/payments`);
    world.now += POLL_MS;
    await steps(world, 15);
    expect(template(world, 'api')).toEqual(before);
    world.cluster.put(
      secret('payments', { 'api-key': 'other' }, { labels: { 'app.kubernetes.io/part-of': 'berth' } }),
    );
    world.now += POLL_MS;
    await steps(world, 15);
    expect(template(world, 'api')).toEqual(before);
    expect(world.status.activeRevision).toMatchObject({ number: 1 });
  });
});

test('a changed value reaches the active revision of a resource applied by hand whose newer revision has failed', async () => {
  const byHand = (number: number, more: object) => ({
    revision: { number, image: `web:${number}` },
    ...more,
  });
  const world = new World(byHand(1, reference('payments')));
  world.cluster.put(secret('payments', { 'api-key': 'x' }));
  await world.converge();
  const first = marker(world);
  world.change(byHand(2, reference('absent')));
  await steps(world, 15);
  const failed = { number: 2, reason: 'SecretReferenceMissing' };
  expect(world.status).toMatchObject({ activeRevision: { number: 1 }, failedRevision: failed });
  await rotate(world, 'second');
  expect(marker(world)).not.toBe(first);
  expect(world.status).toMatchObject({ activeRevision: { number: 1 }, failedRevision: failed });
  expect(world.condition('Ready')).toBe('False SecretReferenceMissing');
  await isQuiet(world);
  world.cluster.put(secret('absent', { 'api-key': 'x' }));
  world.now += POLL_MS;
  await world.converge();
  expect(world.status.activeRevision).toMatchObject({ number: 2 });
});

test('a change of a resource applied by hand that fails again with another value leaves the active revision with it', async () => {
  const byHand = (more: object) => ({ revision: { number: 1, image: 'web:1' }, ...more });
  const world = new World(byHand(reference('payments')));
  world.cluster.put(secret('payments', { 'api-key': 'x' }));
  await world.converge();
  world.cluster.stuck.set('api', 'InvalidImageName');
  world.change(byHand(payments(labelled('bad'))) as never);
  await steps(world, 15);
  world.cluster.stuck.clear();
  await world.converge();
  expect(world.status).toMatchObject({ activeRevision: { number: 1 }, failedRevision: { number: 1 } });
  const first = marker(world);
  world.cluster.stuck.set('api', 'InvalidImageName');
  change(world, 'payments', { 'api-key': 'second' });
  world.now += POLL_MS;
  for (let step = 0; world.status.failedRevision?.templates !== 'web-1-3' && step < 10; step += 1)
    await steps(world, 1);
  expect(world.status.failedRevision).toMatchObject({ templates: 'web-1-3' });
  world.cluster.stuck.clear();
  for (let poll = 0; poll < 3; poll += 1) {
    world.now += POLL_MS;
    await world.converge();
  }
  expect(marker(world)).not.toBe(first);
  expect(template(world, 'api')).not.toMatchObject({ metadata: { labels: { team: 'bad' } } });
  expect(world.status.failedRevision).toMatchObject({ number: 1, reason: 'InvalidImageName' });
  await isQuiet(world);
});

test('a refused Secret of the active revision is not rolled out by a change after a newer revision has failed', async () => {
  const world = await afterFailure(revised('web:2', 2, absent()), false);
  const before = template(world, 'api');
  world.cluster.edit(`Secret/${NAMESPACE}/payments`, ({ metadata }) => {
    metadata.labels = { 'app.kubernetes.io/part-of': 'berth' };
  });
  world.change(revised('web:2', 2, absent(labelled('next'))));
  await steps(world, 15);
  expect(template(world, 'api')).toEqual(before);
  expect(world.status).toMatchObject({
    activeRevision: { number: 1 },
    failedRevision: { number: 2 },
    failedChange: { number: 1, reason: 'Refused' },
  });
  expect(message(world, 'Ready')).toContain('the Secret payments belongs to the platform');
  world.cluster.edit(`Secret/${NAMESPACE}/payments`, ({ metadata }) => {
    metadata.labels = {};
  });
  world.now += POLL_MS;
  await world.converge();
  expect(template(world, 'api')).toMatchObject({ metadata: { labels: { team: 'next' } } });
  expect(marker(world)).toMatch(/^[0-9a-f]{32}$/);
});
