/** The sentinel of a deployment's Secrets that was edited, or that exists although the cache does not show it. */
import { describe, expect, test } from 'vitest';
import { matchesLabelSelector } from '../../../../../src/cluster/kube/client/label-selector.ts';
import type { ObjectMeta, UntypedObject } from '../../../../../src/cluster/kube/client/object.ts';
import { CHILD_KINDS } from '../../../../../src/cluster/operator/kinds.ts';
import { LABELS } from '../../../../../src/contract/resource/names.ts';
import { INPUTS_HASH_LABEL } from '../../../../../src/workloads/labels.ts';
import { SENTINEL_LABEL } from '../../../../../src/workloads/objects/secret-sentinel.ts';
import { NAMESPACE, revised, settled, type World } from '../fixtures.ts';

const SPEC = revised('web:1', 1, { suspend: true });

/** A settled deployment and its sentinel. A cache by labels does not contain a sentinel without its labels. */
async function withSentinel(): Promise<{ world: World; id: string; before: UntypedObject }> {
  const world = await settled(SPEC);
  const [before, ...others] = world.cluster.list('ControllerRevision');
  if (before === undefined || others.length > 0)
    throw new Error('expected exactly one ControllerRevision: the sentinel');
  const { view } = world.cluster;
  const children = view.children.bind(view);
  view.children = (kind, key) =>
    children(kind, key).filter(({ metadata }) =>
      matchesLabelSelector(CHILD_KINDS[kind].labelSelector, metadata.labels),
    );
  return { world, id: `ControllerRevision/${NAMESPACE}/${before.metadata.name}`, before };
}

const metadataOf = (world: World, id: string): Partial<ObjectMeta> => world.cluster.get(id)?.metadata ?? {};

/** Reconciles once. @returns the kind of the outcome, and the writes */
async function reconcileWithOutcome(world: World) {
  world.cluster.writes = [];
  const { kind } = await world.reconcile();
  return { kind, writes: world.cluster.writes.map(({ verb, id }) => `${verb} ${id}`) };
}

/** Caches that do not show it, although it is there. */
function hidden(world: World): void {
  const { view } = world.cluster;
  const children = view.children.bind(view);
  view.children = (kind, key) => (kind === 'ControllerRevision' ? [] : children(kind, key));
}

const MARKS: readonly string[] = [
  LABELS.managedBy,
  LABELS.instance,
  LABELS.deploymentId,
  INPUTS_HASH_LABEL,
  SENTINEL_LABEL,
];

describe('a sentinel that was edited', () => {
  test.each([...MARKS.map((label) => ({ labels: [label] })), { labels: MARKS }])(
    'gets back its labels $labels',
    async ({ labels }) => {
      const { world, id, before } = await withSentinel();
      world.cluster.edit(id, ({ metadata }) => {
        for (const label of labels) delete metadata.labels?.[label];
        Object.assign(metadata.labels ?? {}, { 'example.com/mine': 'yes' });
      });
      const { name } = before.metadata;
      expect(await reconcileWithOutcome(world), 'one refused, one not').toEqual({
        kind: 'settled',
        writes: [`create ControllerRevision/${name}`, `patch ControllerRevision/${name}`],
      });
      expect(metadataOf(world, id)).toMatchObject({
        uid: before.metadata.uid,
        labels: { ...before.metadata.labels, 'example.com/mine': 'yes' },
        ownerReferences: before.metadata.ownerReferences,
      });
      expect(await reconcileWithOutcome(world), 'and is seen').toEqual({ kind: 'settled', writes: [] });
    },
  );

  test('gets back a label with another value', async () => {
    const { world, id, before } = await withSentinel();
    world.cluster.edit(id, ({ metadata }) => {
      Object.assign(metadata.labels ?? {}, { [LABELS.managedBy]: 'somebody' });
    });
    await reconcileWithOutcome(world);
    expect(metadataOf(world, id).labels).toEqual(before.metadata.labels);
  });

  test('gets back its Secrets as owners, and keeps other owners', async () => {
    const { world, id, before } = await withSentinel();
    const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'mine', uid: 'of-mine' };
    world.cluster.edit(id, ({ metadata }) => {
      metadata.ownerReferences = [other];
    });
    await reconcileWithOutcome(world);
    expect(metadataOf(world, id).ownerReferences).toEqual([
      ...(before.metadata.ownerReferences ?? []),
      other,
    ]);
    expect(await reconcileWithOutcome(world)).toEqual({ kind: 'settled', writes: [] });
  });

  test('is not overwritten if it changes meanwhile, and is reconciled again', async () => {
    const { world, id, before } = await withSentinel();
    world.cluster.edit(id, ({ metadata }) => {
      metadata.labels = {};
    });
    const { client } = world.cluster;
    const { find } = client;
    client.find = async (resource, at, options) => {
      const found = await find(resource, at, options);
      if (resource.kind === 'ControllerRevision') {
        client.find = find;
        world.cluster.edit(id, ({ metadata }) => {
          metadata.annotations = { 'example.com/mine': 'yes' };
        });
      }
      return found as never;
    };
    expect(await reconcileWithOutcome(world)).toMatchObject({ kind: 'retry' });
    expect(metadataOf(world, id).labels).toEqual({});
    await reconcileWithOutcome(world);
    expect(metadataOf(world, id).labels).toEqual(before.metadata.labels);
  });
});

describe('an object with the name of the sentinel', () => {
  test('is not written if it is being deleted, and is reconciled again', async () => {
    const { world, id } = await withSentinel();
    world.cluster.edit(id, ({ metadata }) => {
      metadata.deletionTimestamp = new Date(0).toISOString();
    });
    const before = world.cluster.get(id);
    expect(await reconcileWithOutcome(world)).toMatchObject({ kind: 'retry' });
    expect(world.cluster.get(id)).toEqual(before);
  });

  test('is not written if it is not ours, and is reconciled again', async () => {
    const { world, id } = await withSentinel();
    world.cluster.edit(id, ({ metadata }) => {
      metadata.labels = { app: 'legacy' };
      metadata.ownerReferences = [{ apiVersion: 'v1', kind: 'Secret', name: 'web-db', uid: 'another' }];
    });
    const before = world.cluster.get(id);
    expect(await reconcileWithOutcome(world)).toMatchObject({ kind: 'retry' });
    expect(world.cluster.get(id)).toEqual(before);
  });

  test('is reconciled again if it is gone when it is read', async () => {
    const { world, id, before } = await withSentinel();
    world.cluster.edit(id, ({ metadata }) => {
      metadata.labels = {};
    });
    const { find } = world.cluster.client;
    world.cluster.client.find = (resource, at, options) => {
      if (resource.kind === 'ControllerRevision') world.cluster.remove(id);
      return find(resource, at, options);
    };
    expect(await reconcileWithOutcome(world)).toMatchObject({ kind: 'retry' });
    expect(await reconcileWithOutcome(world)).toMatchObject({
      writes: [`create ControllerRevision/${before.metadata.name}`],
    });
  });

  test('needs no further reconcile if it is the sentinel and the cache is stale', async () => {
    const { world } = await withSentinel();
    hidden(world);
    const { kind, writes } = await reconcileWithOutcome(world);
    expect({ kind, writes: writes.filter((write) => !write.startsWith('create')) }).toEqual({
      kind: 'settled',
      writes: [],
    });
  });
});
