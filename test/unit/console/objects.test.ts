import { describe, expect, test } from 'vitest';
import type { ClusterObject, ObjectContainer } from '../../../src/console/api/types.ts';
import { amountsText, amountText, podAmounts, usedPart } from '../../../src/console/objects/amounts.ts';
import { containerTone, readyText, restartsOf, stateOf } from '../../../src/console/objects/object-state.ts';
import { type Branch, treeOf } from '../../../src/console/objects/object-tree.ts';
import { isReadKind, keyOf, refOf, selectionOf } from '../../../src/console/objects/selection.ts';

const object = (kind: ClusterObject['kind'], name: string, owner: ClusterObject['owner'] = null) =>
  ({ kind, name, owner, state: 'ready' }) as ClusterObject;

const shape = (tree: readonly Branch[]): unknown[] =>
  tree.map(({ object: { name }, below }) => (below.length === 0 ? name : [name, ...shape(below)]));

describe('treeOf', () => {
  test('puts each object below the object that controls it', () => {
    const objects = [
      object('ManagedDeployment', 'shop'),
      object('Deployment', 'api', { kind: 'ManagedDeployment', name: 'shop' }),
      object('Pod', 'pod', { kind: 'ReplicaSet', name: 'rs' }),
      object('ReplicaSet', 'rs', { kind: 'Deployment', name: 'api' }),
      object('Service', 'api', { kind: 'ManagedDeployment', name: 'shop' }),
    ];
    expect(shape(treeOf(objects))).toEqual([['shop', ['api', ['rs', 'pod']], 'api']]);
  });

  test('shows an object whose owner is not listed, and each object of a circle once', () => {
    const objects = [
      object('Pod', 'lost', { kind: 'Job', name: 'gone' }),
      object('ReplicaSet', 'a', { kind: 'Deployment', name: 'b' }),
      object('Deployment', 'b', { kind: 'ReplicaSet', name: 'a' }),
    ];
    expect(shape(treeOf(objects))).toEqual(['lost', ['a', 'b']]);
  });
});

const container = (more: Partial<ObjectContainer> = {}): ObjectContainer => ({
  name: 'app',
  init: false,
  image: 'registry.example/app:1',
  state: 'running',
  ready: true,
  restarts: 0,
  requests: {},
  limits: {},
  ...more,
});

test('the selected object is in the URL as KIND/NAME', () => {
  expect(selectionOf({ object: 'Pod/shop-1', other: 'x' })).toEqual({ object: 'Pod/shop-1' });
  expect(selectionOf({})).toEqual({});
  expect(refOf({ object: keyOf({ kind: 'Pod', name: 'shop-1' }) })).toEqual({ kind: 'Pod', name: 'shop-1' });
  expect(refOf({ object: 'Pod' })).toBeNull();
  expect(refOf({})).toBeNull();
  expect(['Pod', 'Secret', 'toString'].map(isReadKind)).toEqual([true, false, false]);
});

test('stateOf never shows a state that may have changed as the current one', () => {
  expect(stateOf({ kind: 'Pod', state: 'ready' }, false)).toEqual({ tone: 'good', text: 'ready' });
  expect(stateOf({ kind: 'Pod', state: 'ready' }, true)).toEqual({
    tone: 'unsure',
    text: 'last known: ready',
  });
  expect(stateOf({ kind: 'Secret', state: 'unknown' }, false)).toEqual({ tone: 'off', text: 'not read' });
});

test.each<[Partial<ObjectContainer>, string]>([
  [{}, 'good'],
  [{ ready: false }, 'busy'],
  [{ ready: false, init: true }, 'good'],
  [{ state: 'terminated', exit_code: 0 }, 'off'],
  [{ state: 'terminated', exit_code: 137 }, 'bad'],
  [{ state: 'waiting', reason: 'ContainerCreating' }, 'busy'],
  [{ state: 'waiting' }, 'busy'],
  [{ state: 'waiting', reason: 'CrashLoopBackOff' }, 'bad'],
  [{ state: 'unknown' }, 'unsure'],
])('containerTone shows %j as %s', (more, tone) => {
  expect(containerTone(container(more))).toBe(tone);
});

test('pods count the readiness of main containers, and the restarts of all', () => {
  const all = [
    container({ init: true, ready: false, restarts: 2 }),
    container(),
    container({ ready: false }),
  ];
  expect(readyText(all)).toBe('1 of 2');
  expect(restartsOf(all)).toBe(2);
});

describe('amounts', () => {
  test('are the sum of the main containers, and unknown if one is unknown', () => {
    const one = container({ requests: { cpu: 0.25 }, limits: { cpu: 1 }, usage: { cpu: 0.1 } });
    const other = container({ requests: { cpu: 0.5 }, usage: { cpu: 0.2 } });
    const init = container({ init: true, requests: { cpu: 4 } });
    const amounts = podAmounts([init, one, other], 'cpu');
    expect(amounts).toEqual({ usage: expect.closeTo(0.3), request: 0.75, limit: undefined });
    expect(usedPart(amounts)).toBeCloseTo(0.4);
    expect(podAmounts([], 'cpu')).toEqual({ usage: undefined, request: undefined, limit: undefined });
  });

  test('are written with their unit', () => {
    expect(amountText(0.123456, 'cpu')).toBe('0.123');
    expect(amountText(512, 'memory_mb')).toBe('512 MB');
    expect(amountText(1536, 'memory_mb')).toBe('1.5 GB');
    expect(amountsText({ usage: 0.1, request: 0.5, limit: 1 }, 'cpu')).toBe(
      '0.1 used, 0.5 requested, 1 at most',
    );
    expect(amountsText({ usage: undefined, request: undefined, limit: undefined }, 'cpu')).toBe('not set');
    expect(usedPart({ usage: 1, request: 0, limit: undefined })).toBeUndefined();
  });
});
