import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CompressedStore } from '../../../../../src/cluster/kube/cache/compressed-store.ts';

interface Thing {
  metadata: { uid: string; resourceVersion: string };
  value: unknown;
}

const thing = (key: string, version: number, value: unknown): Thing => ({
  metadata: { uid: `uid of ${key}`, resourceVersion: String(version) },
  value,
});

describe('a store that compresses most objects', () => {
  test('holds the same objects as a map after any sequence of set, get and delete', () => {
    // Enough keys for several packs.
    const key = fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz');
    const step = fc.oneof(
      fc.record({ kind: fc.constant('set' as const), key, value: fc.jsonValue() }),
      fc.record({ kind: fc.constantFrom('get' as const, 'delete' as const), key }),
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 4 }),
        fc.array(step, { maxLength: 200, size: 'max' }),
        (most, steps) => {
          const objects = new CompressedStore<Thing>(most);
          const model = new Map<string, Thing>();
          for (const [version, each] of steps.entries()) {
            if (each.kind === 'set') {
              // As it comes from the API server.
              const given = JSON.parse(JSON.stringify(thing(each.key, version, each.value))) as Thing;
              objects.set(each.key, given);
              model.set(each.key, given);
            } else if (each.kind === 'delete') {
              objects.delete(each.key);
              model.delete(each.key);
            } else {
              expect(objects.get(each.key)).toEqual(model.get(each.key));
            }
            expect(objects.size).toBe(model.size);
          }
          expect([...objects.keys()].sort()).toEqual([...model.keys()].sort());
          for (const [name, { metadata }] of model) expect(objects.versionOf(name)).toMatchObject(metadata);
          for (const [name, object] of model) expect(objects.get(name)).toEqual(object);
        },
      ),
    );
  });

  test('keeps the most recently used objects uncompressed', () => {
    const objects = new CompressedStore<Thing>(2);
    const [a, b, c] = [thing('a', 1, 'x'), thing('b', 1, 'ü€𝄞'), thing('c', 1, null)];
    objects.set('a', a);
    objects.set('b', b);
    expect(objects.get('a')).toBe(a);
    objects.set('c', c);
    expect(objects.get('a')).toBe(a);
    expect(objects.get('c')).toBe(c);
    // Others that share its pack.
    for (const name of 'pqrstuvwxy') objects.set(name, thing(name, 1, name));
    const unpacked = objects.get('b');
    expect(unpacked).not.toBe(b);
    expect(unpacked).toEqual(b);
    expect(objects.get('b')).toBe(unpacked);
  });

  test('compresses nothing without a limit', () => {
    const objects = new CompressedStore<Thing>();
    const all = Array.from({ length: 100 }, (_, index) => thing(`t-${index}`, 1, index));
    for (const [index, each] of all.entries()) objects.set(`t-${index}`, each);
    expect(all.every((each, index) => objects.get(`t-${index}`) === each)).toBe(true);
  });
});
