import { beforeEach, describe, expect, test } from 'vitest';
import { IndexedStore } from '../../../../../src/cluster/kube/cache/store.ts';
import type { UntypedObject } from '../../../../../src/cluster/kube/client/object.ts';
import { WantedResources } from '../../../../../src/cluster/operator/builds/wanted-resources.ts';
import {
  buildKeys,
  identityKeys,
  WITH_BUILD,
} from '../../../../../src/cluster/operator/observe/cache-keys.ts';
import { resourceWith } from './fixtures.ts';

/** More of them than the cache keeps unpacked. */
const COUNT = 20;
const KEPT_PLAIN = 4;

let store: IndexedStore<UntypedObject>;
let unpacked: number;
let wanted: WantedResources;

const object = (name: string, version: string, spec: object = {}): UntypedObject => {
  const { metadata, ...resource } = resourceWith({ name, spec });
  return { ...resource, metadata: { ...metadata, resourceVersion: version } } as unknown as UntypedObject;
};

beforeEach(() => {
  store = new IndexedStore<UntypedObject>({ build: buildKeys, identity: identityKeys }, KEPT_PLAIN);
  unpacked = 0;
  wanted = new WantedResources({
    building: () => store.keysByIndex('build', WITH_BUILD),
    versionOf: (key) => store.versionOf(key),
    resource: (key) => {
      unpacked += 1;
      return store.get(key);
    },
    countOf: (namespace, id) => store.keysByIndex('identity', `${namespace}/${id}`).length,
  });
  for (let index = 0; index < COUNT; index += 1)
    store.set(object(`app-${index}`, '1', { deploymentId: `d-${index}` }));
});

const names = () => wanted.all().map(({ metadata }) => metadata.name);

describe('the resources that request a build', () => {
  test('are decompressed and parsed once, however often all of them are read', () => {
    expect(names()).toHaveLength(COUNT);
    expect(unpacked).toBe(COUNT);
    expect(names()).toHaveLength(COUNT);
    wanted.of('berth-t/app-3');
    expect(unpacked).toBe(COUNT);
  });

  test('are read again only if they changed', () => {
    wanted.all();
    store.set(object('app-3', '2', { deploymentId: 'd-3', recordGeneration: 7 }));
    expect(wanted.all().find(({ metadata }) => metadata.name === 'app-3')?.spec.recordGeneration).toBe(7);
    expect(unpacked).toBe(COUNT + 1);
  });

  test('are forgotten when they request no build any more, or are gone', () => {
    wanted.all();
    store.set(object('app-3', '2', { deploymentId: 'd-3', build: undefined }));
    store.delete('berth-t/app-4');
    expect(names()).toHaveLength(COUNT - 2);
    expect(wanted.of('berth-t/app-3')?.spec.build).toBeUndefined();
    expect(wanted.of('berth-t/app-4')).toBeUndefined();
  });

  test('do not include a copy of a manifest, but its original', () => {
    const accepted = { observedRecordGeneration: 1, conditions: [] };
    store.set({ ...object('app-3', '2', { deploymentId: 'd-3' }), status: accepted });
    store.set(object('copy', '1', { deploymentId: 'd-3' }));
    expect(wanted.of('berth-t/copy')?.metadata.name).toBe('copy');
    const left = names();
    expect(left).toHaveLength(COUNT);
    expect(left.filter((name) => name === 'copy' || name === 'app-3')).toEqual(['app-3']);
  });

  test('do not include one that cannot be parsed', () => {
    store.set({ ...object('app-3', '2'), spec: { build: {}, source: 7 } });
    expect(names()).toHaveLength(COUNT - 1);
    expect(wanted.of('berth-t/app-3')).toBeUndefined();
  });
});
