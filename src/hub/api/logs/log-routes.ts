import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { MAX_LOG_REQUESTS } from '../../../contract/protocol/log-protocol.ts';
import {
  type LogQuery,
  loggedComponentSchema,
  logLineSchema,
  type WorkloadLogLine,
} from '../../../domain/core/log-query.ts';
import type { StreamEnd } from '../../../domain/core/stream-end.ts';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import { findDeployment } from '../../store/deployments/deployments.ts';
import { mayPrintReferences } from '../../store/deployments/revisions.ts';
import { findTask, isFromCluster, type TaskRecord } from '../../store/tasks/tasks.ts';
import { callerOf, tenantOf } from '../core/auth.ts';
import { cutOff, disconnectSignal, onDisconnect, shutdownSignal } from '../core/client-disconnect.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError, notFound } from '../core/errors.ts';
import {
  createReaders,
  isFollowing,
  NDJSON,
  sendLines,
  streamEndSchema,
  untilLost,
} from '../core/line-stream.ts';
import { booleanQuery, deploymentParams, integer } from '../core/query.ts';
import type { RateLimiter } from '../core/rate-limit.ts';
import { maskQuery, showsSecrets } from '../deployments/deployment-response.ts';
import { createWorkHints } from '../listeners/work-hints.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import { taskParams } from '../tasks/task-schema.ts';
import type { AccessWatch } from '../tenancy/access-watch.ts';
import { type LogMasks, unmasked, withheldWithReferences } from './log-masks.ts';
import { type LogBatch, type LogReader, readWorkloadLogs } from './workload-logs.ts';

const DEFAULT_LINES = 500;
/** Maximum time of a request that follows logs, and of a request that does not. */
const FOLLOW_MS = 30 * 60_000;
const READ_MS = 30_000;
/** Maximum number of characters in the lines of a response that is not streamed. */
const MAX_CHARACTERS = 4 * 1024 * 1024;
/** Maximum number of readers per process. Each reader can hold a response in memory. */
const READERS = { tenant: 10, all: 100 };
const OF_LISTENER = { tenant: 5, all: MAX_LOG_REQUESTS };
const RETRY_SECONDS = 10;

const options = z.strictObject({
  ...maskQuery,
  component: loggedComponentSchema
    .optional()
    .describe('Return only logs of this component. Default: all components.'),
  revision_id: uuidSchema
    .optional()
    .describe('Return only logs of pods of this revision. Default: all revisions.'),
  since: z.iso
    .datetime({ offset: true })
    .max(40)
    .optional()
    .describe('Return only lines from this time or later, to the second.'),
  limit: integer(z.int().min(1).max(10_000))
    .default(DEFAULT_LINES)
    .describe(
      `Maximum number of lines per container. The newest lines are returned. Default ${DEFAULT_LINES}.`,
    ),
  follow: booleanQuery
    .default(false)
    .describe(
      `true: also stream new lines, as ${NDJSON}, for at most ${FOLLOW_MS / 60_000} minutes. The last line is an object with the members \`end\` and \`reason\`.`,
    ),
  previous: booleanQuery
    .default(false)
    .describe(
      'true: return the logs of the previous instance of restarted containers, which show why a container crashed. Cannot be used with `follow`.',
    ),
});

/** The options of the logs of a task: those that do not select pods. */
const taskLogsQuery = options.pick({ mask_secrets: true, since: true, limit: true, follow: true });

const query = options.refine(({ follow, previous }) => !(follow && previous), {
  path: ['previous'],
  message: 'must not be true together with follow, because a previous instance prints no more lines',
});

const logsSchema = z
  .object({
    resources: z.array(logLineSchema).describe('Oldest first.'),
    end: z.string().describe('Message that states why the log ends, and which lines are missing.'),
  })
  .meta({ id: 'Logs', description: 'Lines of logs.' });

const streamedSchema = z
  .union([logLineSchema, streamEndSchema])
  .meta({ id: 'LogStreamItem', description: 'One line of the stream.' });

const CUT =
  `The logs are larger than ${MAX_CHARACTERS / 1024 / 1024} MiB, so the rest was omitted. Request fewer ` +
  `lines, or one component.`;
const SHUT: StreamEnd = {
  end: 'The time limit is reached, or the API shuts down. Send the request again.',
  reason: 'continue',
};

/** Sorts the lines of different pods by time. */
const byTime = (a: WorkloadLogLine, b: WorkloadLogLine) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0);

async function readWhole(batches: AsyncGenerator<LogBatch>): Promise<z.infer<typeof logsSchema>> {
  const until = performance.now() + READ_MS;
  const resources: WorkloadLogLine[] = [];
  let room = MAX_CHARACTERS;
  let end = 'The time limit is reached, so the rest was omitted.';
  for await (const batch of batches) {
    resources.push(...batch.lines);
    room -= batch.lines.reduce((sum, { text }) => sum + text.length, 0);
    if (batch.end !== undefined) end = batch.end;
    else if (room < 0) end = CUT;
    if (room < 0 || performance.now() > until) break;
  }
  return { resources: resources.sort(byTime), end };
}

/**
 * The lines of all batches. `first` was read before the response began, so that an immediate failure gets an error
 * response.
 */
async function* followed(
  first: IteratorResult<LogBatch>,
  batches: AsyncGenerator<LogBatch>,
): AsyncGenerator<readonly object[]> {
  const until = performance.now() + FOLLOW_MS;
  try {
    for (let next = first; !next.done; next = await batches.next()) {
      const { lines, end, reason = 'failed' } = next.value;
      yield end === undefined ? lines : [...lines, { end, reason } satisfies StreamEnd];
      if (end !== undefined) return;
      if (performance.now() > until) break;
    }
    yield [SHUT];
  } finally {
    await batches.return(undefined);
  }
}

const params = deploymentParams;

/** The pod of a run of a schedule does not have the uid of its task, so it is found by its Job. */
const jobOf = (task: TaskRecord) =>
  task.origin === 'schedule' && isFromCluster(task) ? { task_job: task.name } : {};

const NO_POD = 'The cluster has not reported the task yet, so there are no logs. Try again when it runs.';

interface ReadRequest {
  readonly deploymentId: string;
  readonly mask: boolean | undefined;
  readonly query: LogQuery;
}

const NOT_MASKABLE =
  'The deployment uses secret_references, whose values Berth does not know and therefore cannot mask in logs.';

/** The inputs of a read, or why logs cannot be read. @throws ApiError 403, 404, 503 */
async function readerOf(
  deps: ApiDeps,
  masks: LogMasks,
  request: FastifyRequest,
  { deploymentId, mask }: { readonly deploymentId: string; readonly mask: boolean | undefined },
): Promise<Pick<LogReader, 'tenantId' | 'deploymentId' | 'listenerId' | 'maskNow'>> {
  const tenantId = tenantOf(request);
  const caller = callerOf(request);
  const sees = showsSecrets(caller, mask);
  return deps.database.forTenant(tenantId).read(async (reader) => {
    const found = await findDeployment(reader, tenantId, deploymentId);
    if (found === null) throw notFound('deployment');
    if (!sees && (await mayPrintReferences(reader, tenantId, deploymentId))) {
      const reason = caller.scopes.includes('secrets:read')
        ? 'The request masks secrets. To read these logs, send mask_secrets=false.'
        : 'The API key lacks the scope secrets:read.';
      throw new ApiError(403, `${reason} ${NOT_MASKABLE}`);
    }
    const { alive, leased, returning = false } = found.listener;
    // A listener that was disconnected may serve logs before its first inventory.
    if (!alive && !(leased && returning)) {
      const detail = 'The cluster of the deployment currently cannot be reached, so its logs cannot be read.';
      throw new ApiError(503, detail, { retryAfterSeconds: RETRY_SECONDS, ofCluster: true });
    }
    const maskNow = sees
      ? unmasked
      : withheldWithReferences(masks.of(tenantId, deploymentId), tenantId, deploymentId);
    return { tenantId, deploymentId, listenerId: found.listenerId, maskNow };
  });
}

export interface LogAccess {
  readonly limiter: RateLimiter;
  readonly watch: AccessWatch;
  readonly masks: LogMasks;
}

/** `/v2/deployments/{id}/logs`. */
export function logRoutes(app: FastifyInstance, deps: ApiDeps, { limiter, watch, masks }: LogAccess): void {
  const closing = shutdownSignal(app);
  const readers = createReaders(READERS);
  const hints = deps.logHints ?? createWorkHints();

  const begin = async (request: FastifyRequest, reply: FastifyReply, tenantId: string) => {
    onDisconnect(reply, readers.enter(tenantId));
    const lost = await watch.lost(request, reply);
    return { lost, signal: AbortSignal.any([disconnectSignal(reply, closing), lost.signal]) };
  };

  /** Reads logs for a request, and sends them. */
  const serve = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { deploymentId, mask, query: asked }: ReadRequest,
  ) => {
    const { follow } = asked;
    const common = await readerOf(deps, masks, request, { deploymentId, mask });
    limiter.clusterRead(common.tenantId);
    const { lost, signal } = await begin(request, reply, common.tenantId);
    const longestMs = follow ? FOLLOW_MS : READ_MS;
    const held = { deps, hints, most: OF_LISTENER, signal, longestMs, httpRequestId: request.id };
    const batches = readWorkloadLogs({ ...common, ...held }, asked);
    if (!follow) {
      const whole = await readWhole(batches);
      await watch.ensure(request);
      return reply.send(whole as never);
    }
    cutOff(reply, FOLLOW_MS);
    // If the client disconnects before the first batch, the lines are never read and `followed` does not start.
    const close = () => void batches.return(undefined).catch(() => undefined);
    signal.addEventListener('abort', close, { once: true });
    // The first read runs before the response head is sent, because the read fails when too many readers exist.
    return sendLines(reply, untilLost(followed(await batches.next(), batches), lost), deps.logger);
  };

  /** A new object for each route, because fastify changes it. */
  const answers = () => ({
    200: {
      description: 'Lines of logs.',
      content: {
        'application/json': { schema: logsSchema },
        [NDJSON]: { schema: streamedSchema },
      },
    },
    ...errorAnswers(404, 409, 504),
  });

  app.withTypeProvider<ZodTypeProvider>().get(
    '/v2/deployments/:deployment_id/tasks/:task_id/logs',
    {
      config: { access: { scopes: ['deployments:read'] }, waits: isFollowing },
      schema: {
        tags: ['tasks'],
        summary: 'Get the logs of a task',
        description:
          'Returns the output of the pod of a task, with its init containers and sidecars. The output can be read until the pod is removed, an hour after its end. It is masked as the logs of the deployment are. 409: the cluster has not reported the task yet, so it has no pod.',
        params: taskParams,
        querystring: taskLogsQuery,
        response: answers(),
      },
    },
    async (request, reply) => {
      const { deployment_id: deploymentId, task_id: taskId } = request.params;
      const { mask_secrets: mask, ...rest } = request.query;
      const tenantId = tenantOf(request);
      const task = await deps.database
        .forTenant(tenantId)
        .read((reader) => findTask(reader, tenantId, deploymentId, taskId));
      if (task === null) throw notFound('task');
      if (task.resourceUid === null) throw new ApiError(409, NO_POD, { retryAfterSeconds: 1 });
      return serve(request, reply, {
        deploymentId,
        mask,
        query: { ...rest, task_uid: task.resourceUid, ...jobOf(task) },
      });
    },
  );

  app.withTypeProvider<ZodTypeProvider>().get(
    '/v2/deployments/:deployment_id/logs',
    {
      config: { access: { scopes: ['deployments:read'] }, waits: isFollowing },
      schema: {
        tags: ['deployments'],
        summary: 'Get the logs of a deployment',
        description:
          "Returns the logs of the containers of the deployment's pods, including database and cache. Berth reads the logs in the cluster on demand, and keeps the lines only until they are sent. For keys without the scope secrets:read, and with mask_secrets, the values of secrets are masked. Logs of a deployment with secret_references need this scope and mask_secrets=false, because Berth does not know their values.",
        params,
        querystring: query,
        response: answers(),
      },
    },
    async (request, reply) => {
      const { previous, mask_secrets: mask, ...rest } = request.query;
      // An older listener does not support `previous`, so the request names it only when it is used.
      const asked = { ...rest, ...(previous ? { previous } : {}) };
      return serve(request, reply, { deploymentId: request.params.deployment_id, mask, query: asked });
    },
  );
}
