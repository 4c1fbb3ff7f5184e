import { expect, onTestFinished, test } from 'vitest';
import {
  type BuildLogsOptions,
  followBuildLogs,
} from '../../../../../src/cluster/listener/builds/build-logs.ts';
import { NOTHING_HERE } from '../../../../../src/contract/protocol/work-protocol.ts';
import { ANNOTATIONS, LABELS, MANAGED_BY } from '../../../../../src/contract/resource/names.ts';
import { untilPasses } from '../../../until-passes.ts';
import { FakeClock, fakeServer, recordingLogger } from '../../kube/support.ts';
import { hub404, settle } from '../fixtures.ts';

const REVISION = '01890000-0000-7000-8000-00000000beef';

/**
 * Follows one build while the hub answers with `failed`.
 * @returns the number of calls of the hub
 */
async function followed(clock: FakeClock, failed: Error): Promise<() => number> {
  const { server, client } = await fakeServer();
  server.put({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'b',
      namespace: 'builds',
      labels: {
        [LABELS.managedBy]: MANAGED_BY,
        [LABELS.component]: 'build',
        [LABELS.revisionId]: REVISION,
      },
      annotations: { [ANNOTATIONS.buildAttempt]: '1' },
    },
  });
  const ending = new AbortController();
  let calls = 0;
  const following = followBuildLogs({
    client,
    hub: {
      buildLogs: async () => {
        calls += 1;
        throw failed;
      },
    },
    term: { epoch: 1, lost: ending.signal, isValid: () => true, end: () => undefined },
    view: { covers: () => true },
    namespace: 'builds',
    logger: recordingLogger(),
    clock,
    signal: ending.signal,
    abort: ending.signal,
  } as BuildLogsOptions);
  await untilPasses(() => expect(calls).toBe(1));
  onTestFinished(async () => {
    ending.abort();
    await following;
  });
  return () => calls;
}

test('retries a moment later after a 404 of a proxy', async () => {
  const clock = new FakeClock();
  const calls = await followed(clock, await hub404('<html>'));
  await untilPasses(() => {
    clock.advance(1_000);
    expect(calls()).toBeGreaterThan(1);
  });
});

test('retries minutes later when the hub does not accept logs', async () => {
  const clock = new FakeClock();
  const calls = await followed(clock, await hub404(JSON.stringify({ detail: NOTHING_HERE })));
  for (let passed = 0; passed < 290_000; passed += 10_000) {
    await settle();
    clock.advance(10_000);
  }
  expect(calls()).toBe(1);
  clock.advance(10_000);
  await untilPasses(() => expect(calls()).toBe(2));
});
