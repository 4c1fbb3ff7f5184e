import type { LogRequest } from '../../../contract/protocol/log-protocol.ts';
import type { ObjectRequest } from '../../../contract/protocol/object-protocol.ts';
import { MAX_WAIT_SECONDS } from '../../../contract/protocol/work-protocol.ts';
import { LISTENER_ABILITIES } from '../../../domain/core/log-query.ts';
import type { StreamEnd } from '../../../domain/core/stream-end.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { sleep } from '../../kube/client/clock.ts';
import { serveObjectRequest } from '../objects/serve-object-request.ts';
import type { ResourceView } from '../resource-view.ts';
import { backOff, type HubFailureOptions } from '../session/hub-backoff.ts';
import { type HubClient, HubError } from '../session/hub-client.ts';
import { inChunk, LogDelivery, namesOf } from './log-delivery.ts';
import { LogReading } from './log-reading.ts';
import { ReaderLimits } from './reader-limits.ts';

/**
 * Polls the hub for requests to read logs of workloads and objects of deployments, and serves each request until its reader is
 * gone.
 */

export interface LogRequestsOptions extends HubFailureOptions {
  readonly client: KubeClient;
  readonly hub: Pick<HubClient, 'logRequests' | 'logChunk' | 'sendObjects'>;
  readonly view: Pick<ResourceView, 'covers'>;
  /** Fires to stop all reads. */
  readonly signal: AbortSignal;
}

const RETRY = { baseMs: 300, capMs: 10_000 };
/** Pause before the next poll of an older hub, which does not have this call. */
const OLD_HUB_PAUSE_MS = 300_000;
/**
 * Status of an older hub when the call carries the listener's capabilities. After this status, the call is repeated
 * once without the capabilities.
 */
const UNPROCESSABLE = 422;
/**
 * Maximum wait of the repeated call. The call may reach a newer hub, where a request that depends on the listener's
 * capabilities waits this long.
 */
const LEGACY_WAIT_SECONDS = 4;

const BUSY: StreamEnd = {
  end: 'The listener of the cluster serves too many readers of logs. Try again later.',
  reason: 'failed',
};

/** Serves one reader of logs. Never rejects. */
async function serveLogRequest(
  { limits, ...options }: LogRequestsOptions & { readonly limits: ReaderLimits },
  request: LogRequest,
): Promise<void> {
  const { client, logger, signal } = options;
  const leave = limits.enter('logs', request);
  try {
    if (leave === null) {
      await new LogDelivery({ ...options, request }).deliver({ seq: 1, lines: [], ...inChunk(BUSY) }, signal);
      return;
    }
    const inTurn = { ...limits.client(client, request), readLog: client.readLog.bind(client) };
    await new LogReading({ ...options, client: inTurn, request }).run();
  } catch (error) {
    logger.error({ ...namesOf(request), err: error }, 'failed to serve a log request');
  } finally {
    leave?.();
  }
}

/** Resolves when the signal has fired and all reads have ended. */
export async function serveLogRequests(options: LogRequestsOptions): Promise<void> {
  const { hub, term, signal, clock } = options;
  const running = new Set<Promise<void>>();
  const limits = new ReaderLimits();
  const keep = (reading: Promise<void>) => {
    running.add(reading);
    void reading.finally(() => running.delete(reading));
  };
  const begin = (request: LogRequest) => {
    if (options.view.covers(request.namespace)) keep(serveLogRequest({ ...options, limits }, request));
  };
  const readObjects = (request: ObjectRequest) => {
    if (options.view.covers(request.namespace)) keep(serveObjectRequest({ ...options, limits }, request));
  };
  let failures = 0;
  let sendsCapabilities = true;
  while (!signal.aborted) {
    try {
      const query = sendsCapabilities
        ? { waitSeconds: MAX_WAIT_SECONDS, knows: LISTENER_ABILITIES }
        : { waitSeconds: LEGACY_WAIT_SECONDS };
      const wanted = await hub.logRequests({ epoch: term.epoch, ...query }, { signal });
      wanted.log_requests.forEach(begin);
      wanted.object_requests?.forEach(readObjects);
      failures = 0;
      sendsCapabilities = true;
    } catch (error) {
      const answered = error instanceof HubError ? error : undefined;
      if (answered?.status === UNPROCESSABLE && sendsCapabilities) sendsCapabilities = false;
      else if (answered?.isOfOlderHub) await sleep(clock, OLD_HUB_PAUSE_MS, signal);
      else {
        failures += 1;
        await backOff('get requests of readers', error, failures, RETRY, options, signal);
      }
    }
  }
  await Promise.all(running);
}
