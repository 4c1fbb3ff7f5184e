import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ReflectorHandlers } from '../../../../../src/cluster/kube/cache/reflector.ts';
import { cleanUpBuilds } from '../../../../../src/cluster/listener/builds/build-cleanup.ts';
import type { Resource } from '../../../../../src/cluster/listener/resource-view.ts';
import { FakeClock, recordingLogger } from '../../kube/support.ts';
import { fakeTerm, NAME, NAMESPACE, settle, specOf } from '../fixtures.ts';

let clock: FakeClock;
let handlers: ReflectorHandlers<Resource>;
let ending: AbortController;
let running: Promise<void>;
let cleanUps: number;

beforeEach(async () => {
  clock = new FakeClock();
  ending = new AbortController();
  cleanUps = 0;
  running = cleanUpBuilds({
    builds: {
      tidy: async () => {
        cleanUps += 1;
      },
    },
    view: {
      covers: () => true,
      trouble: () => undefined,
      get: () => undefined,
      addHandlers: (given) => {
        handlers = given;
        return () => {};
      },
    },
    term: fakeTerm(),
    logger: recordingLogger(),
    clock,
    signal: ending.signal,
    abort: new AbortController().signal,
  });
  await pass();
});
afterEach(async () => {
  ending.abort();
  await running;
});

async function pass(): Promise<void> {
  await settle();
  clock.advance(1_000);
  await settle();
}

/** A resource that requests the build of a revision, which is in a phase. */
const asking = (revisionId: string, phase?: string) =>
  ({
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ManagedDeployment',
    metadata: { name: NAME, namespace: NAMESPACE },
    spec: { ...specOf(1), build: { revisionId, secretName: `${NAME}-${revisionId}` } },
    ...(phase === undefined ? {} : { status: { build: { revisionId, phase } } }),
  }) as unknown as Resource;

test('the cleanup runs at the start, and when a build has ended or its deployment is gone', async () => {
  expect(cleanUps).toBe(1);
  handlers.added?.(asking('a'));
  await pass();
  expect(cleanUps).toBe(1);
  handlers.updated?.(asking('a', 'Succeeded'), asking('a', 'Running'));
  await pass();
  expect(cleanUps).toBe(2);
  handlers.deleted?.(asking('a'));
  await pass();
  expect(cleanUps).toBe(3);
});

test('the cleanup runs when a build is replaced, even if the cache had the listener’s write before its event', async () => {
  handlers.added?.(asking('a'));
  handlers.updated?.(asking('b'), asking('b'));
  await pass();
  expect(cleanUps).toBe(2);
  handlers.updated?.(asking('b', 'Running'), asking('b'));
  await pass();
  expect(cleanUps).toBe(2);
});
