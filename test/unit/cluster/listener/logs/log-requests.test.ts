import { expect, test } from 'vitest';
import { systemClock } from '../../../../../src/cluster/kube/client/clock.ts';
import {
  type LogRequestsOptions,
  serveLogRequests,
} from '../../../../../src/cluster/listener/logs/log-requests.ts';
import {
  type HubClient,
  HubError,
  type LogRequestsQuery,
} from '../../../../../src/cluster/listener/session/hub-client.ts';
import { NOTHING_HERE } from '../../../../../src/contract/protocol/work-protocol.ts';
import { untilPasses } from '../../../until-passes.ts';
import { FakeClock } from '../../kube/support.ts';
import { hub404 } from '../fixtures.ts';

test('a call is repeated without capabilities when the hub rejects them', async () => {
  const asked: boolean[] = [];
  const waits: number[] = [];
  const ending = new AbortController();
  const logRequests: HubClient['logRequests'] = async ({ knows, waitSeconds }: LogRequestsQuery) => {
    waits.push(waitSeconds);
    asked.push(knows !== undefined);
    if (asked.length === 4) ending.abort();
    if (knows !== undefined) throw new HubError('refused', 'unknown parameter', 422);
    return { log_requests: [] };
  };
  await serveLogRequests({
    hub: { logRequests },
    term: { epoch: 1, lost: ending.signal, isValid: () => true, end: () => undefined },
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    clock: systemClock,
    random: () => 0.5,
    signal: ending.signal,
  } as unknown as LogRequestsOptions);
  expect(asked).toEqual([true, false, true, false]);
  // A newer hub does not make readers wait longer after a call without capabilities.
  expect(waits).toEqual([25, 4, 25, 4]);
});

test('answers at once when one tenant reads too many logs, and serves another tenant', async () => {
  const ending = new AbortController();
  const listed: string[] = [];
  const chunks: [string, unknown][] = [];
  const request = (id: string, tenant: string) => ({
    request_id: id,
    deployment_id: 'd',
    tenant_id: tenant,
    namespace: 'shared',
    query: { limit: 1, follow: true },
  });
  const wanted = [...Array.from({ length: 21 }, (_, index) => request(`a${index}`, 'a')), request('b', 'b')];
  const serving = serveLogRequests({
    hub: {
      logRequests: async (_query: unknown, { signal }: { signal: AbortSignal }) => {
        if (listed.length === 0 && chunks.length === 0) return { log_requests: wanted };
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('ended'))));
      },
      logChunk: async (id: string, chunk: { end?: string }) => {
        if (chunk.end !== undefined) chunks.push([id, chunk.end]);
        return { state: 'taken' };
      },
    },
    client: {
      list: async (_resource: unknown, { signal }: { signal: AbortSignal }) => {
        listed.push('list');
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
      readLog: () => [],
    },
    view: { covers: () => true },
    term: { epoch: 1, lost: ending.signal, isValid: () => false, end: () => undefined },
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    clock: systemClock,
    random: () => 0.5,
    signal: ending.signal,
  } as unknown as LogRequestsOptions);
  await untilPasses(() => {
    expect(chunks).toEqual([['a20', expect.stringMatching(/too many readers/)]]);
    // Five lists of the first tenant, and that of the other tenant.
    expect(listed).toHaveLength(6);
  });
  ending.abort();
  await serving;
});

test.each([
  ['of a proxy', hub404('<html>'), 10_000],
  ['of a hub without log requests', hub404(JSON.stringify({ detail: NOTHING_HERE })), 300_000],
])(
  'after a 404 %s, the hub is polled again after the pause for that case',
  async (_whose, failed, pauseMs) => {
    const clock = new FakeClock();
    const ending = new AbortController();
    let asked = 0;
    const serving = serveLogRequests({
      hub: {
        logRequests: async () => {
          asked += 1;
          if (asked === 2) ending.abort();
          throw await failed;
        },
      },
      term: { epoch: 1, lost: ending.signal, isValid: () => true, end: () => undefined },
      logger: { debug() {}, info() {}, warn() {}, error() {} },
      clock,
      random: () => 1,
      signal: ending.signal,
    } as unknown as LogRequestsOptions);
    await untilPasses(() => expect(clock.timers).toBe(1));
    clock.advance(pauseMs);
    await serving;
    expect(asked).toBe(2);
  },
);
