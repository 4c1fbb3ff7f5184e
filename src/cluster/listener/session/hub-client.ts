import { z } from 'zod';
import {
  ANOTHER_CLUSTER,
  type LeaseRequest,
  type LeaseResponse,
  leaseResponseSchema,
} from '../../../contract/protocol/lease-protocol.ts';
import {
  type BuildLogsRequest,
  type BuildLogsResponse,
  buildLogsResponseSchema,
  type LogChunk,
  type LogChunkResponse,
  logChunkResponseSchema,
  logRequestsResponseSchema,
  type ReaderRequests,
} from '../../../contract/protocol/log-protocol.ts';
import { type ObjectAnswer, objectAnswerResponseSchema } from '../../../contract/protocol/object-protocol.ts';
import {
  type VolumeRemovalRequest,
  type VolumeRemovalResponse,
  volumeRemovalResponseSchema,
} from '../../../contract/protocol/removal-protocol.ts';
import {
  type InventoryRequest,
  type InventoryResponse,
  inventoryResponseSchema,
  type ReportsRequest,
  type ReportsResponse,
  reportsResponseSchema,
} from '../../../contract/protocol/report-protocol.ts';
import {
  type TaskOrders,
  type TaskReportsRequest,
  taskOrdersResponseSchema,
  taskReportsResponseSchema,
} from '../../../contract/protocol/task-protocol.ts';
import {
  applyWorkSchema,
  NOTHING_HERE,
  purgeWorkSchema,
  type WorkItem,
} from '../../../contract/protocol/work-protocol.ts';
import { boundedRetryAfter } from '../../../domain/core/backoff.ts';
import type { ListenerAbility } from '../../../domain/core/log-query.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import type { HubAnswer, HubTransport } from './hub-transport.ts';

/**
 * A call of the hub failed. `conflict`: another process has the lease, or the epoch has ended. `refused`: the hub
 * rejects the request, and a retry does not help. `unavailable`: no response, or a transient failure.
 */
export class HubError extends Error {
  override readonly name = 'HubError';
  readonly kind: 'conflict' | 'refused' | 'unavailable';
  /** HTTP status; 0 without a response. */
  readonly status: number;
  readonly retryAfterMs: number | undefined;

  constructor(kind: HubError['kind'], message: string, status = 0, retryAfterMs?: number) {
    super(message);
    this.kind = kind;
    this.status = status;
    this.retryAfterMs = boundedRetryAfter(retryAfterMs);
  }

  /** Another cluster has the lease, so a wait does not help. */
  get isAnotherCluster(): boolean {
    return this.kind === 'conflict' && this.message.includes(ANOTHER_CLUSTER);
  }

  /**
   * The hub itself reports that it does not know the call, because it has an older version. Any other 404 may come from
   * a proxy.
   */
  get isOfOlderHub(): boolean {
    return this.status === 404 && this.message.includes(NOTHING_HERE);
  }

  get retryable(): boolean {
    return this.kind === 'unavailable';
  }
}

export interface HubCallOptions {
  signal?: AbortSignal;
}

export interface WorkQuery {
  epoch: number;
  waitSeconds: number;
  limit: number;
  /** The response to an earlier query was lost. Older hubs reject the parameter. */
  lost?: boolean;
}

export interface LogRequestsQuery extends Omit<WorkQuery, 'limit' | 'lost'> {
  readonly knows?: readonly ListenerAbility[];
}

/**
 * The API of the hub for a listener. Every method fails with a HubError, or with the signal's reason when the signal
 * fires.
 */
export interface HubClient {
  lease(request: LeaseRequest, options?: HubCallOptions): Promise<LeaseResponse>;
  work(query: WorkQuery, options?: HubCallOptions): Promise<WorkItem[]>;
  reports(request: ReportsRequest, options?: HubCallOptions): Promise<ReportsResponse>;
  inventory(request: InventoryRequest, options?: HubCallOptions): Promise<InventoryResponse>;
  /** Earlier hubs do not have this call (isOfOlderHub). */
  volumeRemoval(request: VolumeRemovalRequest, options?: HubCallOptions): Promise<VolumeRemovalResponse>;
  buildLogs(request: BuildLogsRequest, options?: HubCallOptions): Promise<BuildLogsResponse>;
  /** @param query `knows`: the capabilities of the listener; absent for older hubs */
  logRequests(query: LogRequestsQuery, options?: HubCallOptions): Promise<ReaderRequests>;
  logChunk(requestId: string, chunk: LogChunk, options?: HubCallOptions): Promise<LogChunkResponse>;
  sendObjects(requestId: string, answer: ObjectAnswer, options?: HubCallOptions): Promise<unknown>;
  /** Earlier hubs do not have this call (isOfOlderHub). @param query `known`: version of the last response */
  taskOrders(
    query: Omit<WorkQuery, 'limit' | 'lost'> & { readonly known: string },
    options?: HubCallOptions,
  ): Promise<TaskOrders>;
  reportTasks(request: TaskReportsRequest, options?: HubCallOptions): Promise<unknown>;
}

/** Timeout of a lease call. Two attempts fit into the time in which the holder may rely on the lease. */
const LEASE_TIMEOUT_MS = 4000;
const CALL_TIMEOUT_MS = 30_000;
/** Short, because the custom resource cannot be changed during this call. */
const REMOVAL_TIMEOUT_MS = 5000;
/** Time in addition to the time for which the hub holds a request open. */
const WORK_GRACE_MS = 10_000;

/** The API server validates `spec` strictly. A newer hub may send fields that this program does not know. */
const workAnswerSchema = z.object({ items: z.array(z.unknown()) });
const itemSchema = z.discriminatedUnion('kind', [
  applyWorkSchema.extend({ spec: z.looseObject({ generation: z.int() }) }),
  purgeWorkSchema,
]);

/** The error message of the hub, if the body contains one. */
function detailOf(body: string): string {
  try {
    const { detail } = JSON.parse(body) as { detail?: unknown };
    return typeof detail === 'string' ? detail : JSON.stringify(detail ?? '').slice(0, 500);
  } catch {
    return '';
  }
}

function failure(action: string, { status, retryAfterMs, body }: HubAnswer): HubError {
  const message = `failed to ${action}: HTTP ${status} ${detailOf(body)}`.trim();
  if (status === 409) return new HubError('conflict', message, status);
  // Statuses of transient failures: a key that is being replaced, a hub that starts, or a login page in front of the
  // hub.
  const passing = status >= 500 || status < 400 || [401, 403, 404, 408, 429].includes(status);
  return new HubError(passing ? 'unavailable' : 'refused', message, status, retryAfterMs);
}

/** Creates a client of the hub for one listener. */
export function createHubClient(options: {
  transport: HubTransport;
  listenerId: string;
  logger: Logger;
}): HubClient {
  const { transport, logger } = options;
  const base = `/v2/listeners/${encodeURIComponent(options.listenerId)}`;

  async function call<T>(
    action: string,
    request: { method: 'GET' | 'PUT' | 'POST'; path: string; body?: unknown },
    schema: z.ZodType<T>,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const deadline = AbortSignal.timeout(timeoutMs);
    let answer: HubAnswer;
    try {
      const combined = signal === undefined ? deadline : AbortSignal.any([deadline, signal]);
      answer = await transport({ ...request, path: `${base}${request.path}`, signal: combined });
    } catch (error) {
      signal?.throwIfAborted();
      const why = deadline.aborted ? `no response within ${timeoutMs} ms` : messageOf(error);
      throw new HubError('unavailable', `failed to ${action}: ${why}`);
    }
    if (answer.status !== 200) throw failure(action, answer);
    try {
      return schema.parse(JSON.parse(answer.body));
    } catch {
      throw new HubError('unavailable', `failed to ${action}: the response is not from a hub`, answer.status);
    }
  }

  return {
    lease: (body, { signal } = {}) =>
      call(
        'take the lease',
        { method: 'PUT', path: '/lease', body },
        leaseResponseSchema,
        LEASE_TIMEOUT_MS,
        signal,
      ),
    async work({ epoch, waitSeconds, limit, lost = false }, { signal } = {}) {
      const parameter = lost ? '&lost=true' : '';
      const path = `/work?epoch=${epoch}&wait_seconds=${waitSeconds}&limit=${limit}${parameter}`;
      const timeoutMs = waitSeconds * 1000 + WORK_GRACE_MS;
      const answer = await call('get work', { method: 'GET', path }, workAnswerSchema, timeoutMs, signal);
      return answer.items.flatMap((item) => {
        const parsed = itemSchema.safeParse(item);
        if (parsed.success) return [parsed.data as WorkItem];
        logger.error(
          { issues: parsed.error.issues.map(({ path: at, code }) => `${at.join('.')}: ${code}`) },
          'skipped a work item that this version does not support',
        );
        return [];
      });
    },
    reports: (body, { signal } = {}) =>
      call(
        'send reports',
        { method: 'POST', path: '/reports', body },
        reportsResponseSchema,
        CALL_TIMEOUT_MS,
        signal,
      ),
    inventory: (body, { signal } = {}) =>
      call(
        'send the inventory',
        { method: 'POST', path: '/inventory', body },
        inventoryResponseSchema,
        CALL_TIMEOUT_MS,
        signal,
      ),
    volumeRemoval: (body, { signal } = {}) =>
      call(
        'get the permission to remove a volume',
        { method: 'POST', path: '/volume-removals', body },
        volumeRemovalResponseSchema,
        REMOVAL_TIMEOUT_MS,
        signal,
      ),
    buildLogs: (body, { signal } = {}) =>
      call(
        'send the log of a build',
        { method: 'POST', path: '/build-logs', body },
        buildLogsResponseSchema,
        CALL_TIMEOUT_MS,
        signal,
      ),
    logRequests({ epoch, waitSeconds, knows }, { signal } = {}) {
      const parameter = knows === undefined ? '' : `&knows=${knows.join(',')}`;
      const path = `/log-requests?epoch=${epoch}&wait_seconds=${waitSeconds}${parameter}`;
      const timeoutMs = waitSeconds * 1000 + WORK_GRACE_MS;
      const request = { method: 'GET', path } as const;
      return call('get requests of readers', request, logRequestsResponseSchema, timeoutMs, signal);
    },
    taskOrders({ epoch, waitSeconds, known }, { signal } = {}) {
      const path = `/tasks?epoch=${epoch}&wait_seconds=${waitSeconds}&known=${encodeURIComponent(known)}`;
      const timeoutMs = waitSeconds * 1000 + WORK_GRACE_MS;
      return call('get tasks', { method: 'GET', path }, taskOrdersResponseSchema, timeoutMs, signal);
    },
    reportTasks: (body, { signal } = {}) =>
      call(
        'report tasks',
        { method: 'POST', path: '/task-reports', body },
        taskReportsResponseSchema,
        CALL_TIMEOUT_MS,
        signal,
      ),
    sendObjects: (requestId, body, { signal } = {}) =>
      call(
        'send objects',
        { method: 'POST', path: `/object-requests/${encodeURIComponent(requestId)}`, body },
        objectAnswerResponseSchema,
        CALL_TIMEOUT_MS,
        signal,
      ),
    logChunk: (requestId, body, { signal } = {}) =>
      call(
        'send lines of a log',
        { method: 'POST', path: `/log-requests/${encodeURIComponent(requestId)}`, body },
        logChunkResponseSchema,
        CALL_TIMEOUT_MS,
        signal,
      ),
  };
}

/** The message of a network error. An error after attempts at several addresses has only a code. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || (error as NodeJS.ErrnoException).code || error.name;
}
