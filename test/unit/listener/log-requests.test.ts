import { expect, test } from 'vitest';
import { systemClock } from '../../../src/kube/clock.ts';
import { type HubClient, HubError, type LogRequestsQuery } from '../../../src/listener/hub-client.ts';
import { type LogRequestsOptions, serveLogRequests } from '../../../src/listener/log-requests.ts';

test('a hub tells by a refusal that it is not to be told what the listener knows, and is asked without that', async () => {
  const asked: boolean[] = [];
  const waits: number[] = [];
  const ending = new AbortController();
  const logRequests: HubClient['logRequests'] = async ({ knows, waitSeconds }: LogRequestsQuery) => {
    waits.push(waitSeconds);
    asked.push(knows !== undefined);
    if (asked.length === 4) ending.abort();
    if (knows !== undefined) throw new HubError('refused', 'unknown parameter', 422);
    return [];
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
  // A newer hub that is asked without it keeps readers waiting for no longer.
  expect(waits).toEqual([25, 4, 25, 4]);
});
