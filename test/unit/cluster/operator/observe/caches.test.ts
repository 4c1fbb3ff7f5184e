import { expect, test } from 'vitest';
import type { KubeClient, WatchEvent } from '../../../../../src/cluster/kube/client/client.ts';
import type { UntypedObject } from '../../../../../src/cluster/kube/client/object.ts';
import type { Resource } from '../../../../../src/cluster/kube/client/resources.ts';
import { Caches } from '../../../../../src/cluster/operator/observe/caches.ts';
import { LABELS, MANAGED_BY } from '../../../../../src/contract/resource/names.ts';
import { INPUTS_HASH_LABEL } from '../../../../../src/workloads/labels.ts';
import { SENTINEL_LABEL } from '../../../../../src/workloads/objects/secret-sentinel.ts';
import { recordingLogger } from '../../kube/support.ts';

const signal = AbortSignal.timeout(10_000);

function resource(name: string, version: number, generation: number, tenantId: string): UntypedObject {
  return {
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ManagedDeployment',
    metadata: { name, namespace: 'team', uid: name, resourceVersion: String(version), generation },
    spec: { tenantId },
  };
}

const service = (name: string, version: number): UntypedObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    name,
    namespace: 'team',
    uid: `service ${name}`,
    resourceVersion: String(version),
    labels: { [LABELS.instance]: name, [LABELS.managedBy]: MANAGED_BY },
  },
});

/** Stored templates, or a sentinel of Secrets. */
const revision = (name: string, version: number, isSentinel: boolean): UntypedObject => ({
  apiVersion: 'apps/v1',
  kind: 'ControllerRevision',
  metadata: {
    name,
    namespace: 'team',
    uid: `revision ${name}`,
    resourceVersion: String(version),
    labels: {
      [LABELS.instance]: 'app',
      [LABELS.managedBy]: MANAGED_BY,
      [INPUTS_HASH_LABEL]: 'hash',
      ...(isSentinel ? { [SENTINEL_LABEL]: 'secrets' } : {}),
    },
  },
});

/**
 * Caches of custom resources, Services and ControllerRevisions, with what a server would send; notes what is to be
 * reconciled.
 */
async function setUp(listed: readonly UntypedObject[]) {
  const events = new Map<string, (event: WatchEvent<UntypedObject>) => void>();
  const client = {
    async listAll(
      { kind }: Resource,
      { transform }: { transform: (object: UntypedObject) => UntypedObject },
    ) {
      return { items: listed.filter((each) => each.kind === kind).map(transform), resourceVersion: '10' };
    },
    watch({ kind }: Resource, options: { signal: AbortSignal }, onEvent: (event: never) => void) {
      events.set(kind, onEvent as (event: WatchEvent<UntypedObject>) => void);
      return new Promise<void>((resolve) => options.signal.addEventListener('abort', () => resolve()));
    },
  } as unknown as KubeClient;
  const kinds = ['Service', 'ControllerRevision'] as const;
  const caches = new Caches({ client, namespaces: [], kinds, logger: recordingLogger() });
  const notified: string[] = [];
  caches.onChange((key) => void notified.push(key));
  caches.start();
  await caches.waitForSync(signal);
  await expect.poll(() => events.size).toBe(3);
  const send = (type: 'ADDED' | 'MODIFIED' | 'DELETED', object: UntypedObject) => {
    notified.length = 0;
    events.get(object.kind)?.({ type, object });
    return [...notified];
  };
  return { caches, notified, send };
}

test('requests a reconcile for each listed, created, changed or deleted object', async () => {
  const { caches, notified, send } = await setUp([resource('old', 1, 1, 'a'), service('old', 2)]);
  expect(notified).toEqual(['team/old', 'team/old']);
  expect(send('ADDED', resource('new', 11, 1, 'a'))).toEqual(['team/new']);
  expect(send('MODIFIED', resource('new', 12, 2, 'a'))).toEqual(['team/new']);
  expect(send('MODIFIED', resource('new', 13, 2, 'a')), 'its status').toEqual(['team/new']);
  expect(send('ADDED', service('new', 14))).toEqual(['team/new']);
  const leaving = resource('new', 15, 2, 'a');
  leaving.metadata.deletionTimestamp = '2026-11-24T12:00:00Z';
  expect(send('MODIFIED', leaving)).toEqual(['team/new']);
  expect(send('DELETED', { ...leaving, metadata: { ...leaving.metadata, resourceVersion: '16' } })).toEqual([
    'team/new',
  ]);
  await caches.stop();
});

test('knows the tenant of a resource while it exists, and uses its namespace otherwise', async () => {
  const { caches, send } = await setUp([resource('old', 1, 1, 'a')]);
  expect([caches.tenantOf('team/old'), caches.tenantOf('team/new')]).toEqual(['a', 'team']);
  send('ADDED', resource('new', 11, 1, 'b'));
  expect(caches.tenantOf('team/new')).toBe('b');
  send('DELETED', resource('new', 12, 1, 'b'));
  expect(caches.tenantOf('team/new')).toBe('team');
  await caches.stop();
});

test('requests a reconcile after the event of an own write, but not after that of a sentinel', async () => {
  const { caches, send } = await setUp([]);
  caches.noteWrite(service('app', 11));
  expect(send('ADDED', service('app', 11))).toEqual(['team/app']);
  caches.noteWrite(revision('templates', 12, false));
  expect(send('ADDED', revision('templates', 12, false))).toEqual(['team/app']);
  caches.noteWrite(revision('sentinel', 13, true));
  expect(send('ADDED', revision('sentinel', 13, true))).toEqual([]);
  const marked = service('app', 14);
  marked.metadata.labels = { ...marked.metadata.labels, [SENTINEL_LABEL]: 'by hand' };
  caches.noteWrite(marked);
  expect(send('MODIFIED', marked), 'no sentinel, whatever its label says').toEqual(['team/app']);
  expect(send('MODIFIED', revision('sentinel', 14, true)), 'a Secret went').toEqual(['team/app']);
  expect(send('DELETED', revision('sentinel', 15, true)), 'the last one went').toEqual(['team/app']);
  expect(send('ADDED', revision('foreign', 16, true)), 'another process made it').toEqual(['team/app']);
  await caches.stop();
});

test('notifies the former and the new resource when the label of an object is edited', async () => {
  const { caches, send } = await setUp([revision('sentinel', 1, true)]);
  const labelled = (version: number, instance: string | undefined) => {
    const object = revision('sentinel', version, true);
    const { [LABELS.instance]: _, ...labels } = object.metadata.labels ?? {};
    object.metadata.labels = {
      ...labels,
      ...(instance === undefined ? {} : { [LABELS.instance]: instance }),
    };
    return object;
  };
  expect(send('MODIFIED', labelled(11, undefined))).toEqual(['team/app']);
  expect(send('MODIFIED', labelled(12, undefined)), 'without an owner').toEqual([]);
  expect(send('MODIFIED', labelled(13, 'app'))).toEqual(['team/app']);
  expect(send('MODIFIED', labelled(14, 'other'))).toEqual(['team/other', 'team/app']);
  await caches.stop();
});

test('notifies resources with the same identity of changes of each other, however their ids are written', async () => {
  const victim = resource('victim', 1, 1, 'a');
  const { caches, send } = await setUp([victim]);
  const rival = { ...resource('rival', 11, 1, 'a'), spec: { deploymentId: 'victim' } };
  expect(send('ADDED', rival)).toEqual(['team/rival', 'team/victim']);
  expect(caches.countOf('team', 'victim')).toBe(2);
  expect(caches.resourcesOf('team', 'victim').map(({ metadata }) => metadata.name)).toEqual([
    'victim',
    'rival',
  ]);
  expect(send('DELETED', { ...victim, metadata: { ...victim.metadata, resourceVersion: '12' } })).toEqual([
    'team/victim',
    'team/rival',
  ]);
});

test('finds retained objects by identity, whatever their name', async () => {
  const kept = revision('app-1', 2, false);
  Object.assign(kept.metadata.labels ?? {}, { [LABELS.deploymentId]: 'x' });
  const { caches } = await setUp([kept]);
  expect(caches.keptOf('team', 'x').map(({ metadata }) => metadata.name)).toEqual(['app-1']);
  expect(caches.keptOf('other', 'x')).toEqual([]);
});
