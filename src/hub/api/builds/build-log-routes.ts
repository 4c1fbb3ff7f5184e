import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import {
  buildLogLineSchema,
  isComplete,
  KEPT_BUILD_LOGS,
  KEPT_LOG,
} from '../../../domain/builds/build-log.ts';
import type { StreamEnd, StreamEndReason } from '../../../domain/core/stream-end.ts';
import type { RevisionStatus } from '../../../domain/revision/states.ts';
import { type ReadLog, readBuildLog } from '../../store/builds/build-logs.ts';
import { findRevision, type RevisionRecord } from '../../store/deployments/revisions.ts';
import { tenantOf } from '../core/auth.ts';
import { cutOff, disconnectSignal, onDisconnect, shutdownSignal } from '../core/client-disconnect.ts';
import type { ApiDeps } from '../core/deps.ts';
import { notFound } from '../core/errors.ts';
import {
  createReaders,
  isFollowing,
  NDJSON,
  sendLines,
  streamEndSchema,
  untilLost,
} from '../core/line-stream.ts';
import { booleanQuery, integer, pageQuery } from '../core/query.ts';
import { createWorkHints, type WorkHints } from '../listeners/work-hints.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import { revisionParams } from '../revisions/revision-routes.ts';
import { createAccessWatch } from '../tenancy/access-watch.ts';

const MAX_LINES = 1000;
/** Maximum time that one request follows a log. */
const FOLLOW_MS = 30 * 60_000;
/** Time after which a follower reads again, because notifications can be lost. */
const REQUERY_MS = 2000;
const READERS = { tenant: 20, all: 500 };

const query = z.strictObject({
  limit: integer(z.int().min(1).max(MAX_LINES))
    .default(MAX_LINES)
    .describe(
      `Maximum number of lines in the response, 1 to ${MAX_LINES}, which is also the default. In a stream, the limit applies to each read.`,
    ),
  offset: pageQuery.offset.describe(
    'Number of lines to skip: the offset of the previous response. Default 0.',
  ),
  follow: booleanQuery
    .default(false)
    .describe(
      `true: stream the lines as they arrive, as ${NDJSON}, until the build has ended. The last line is an object with the members \`end\` and \`reason\`.`,
    ),
});

const logSchema = z
  .object({
    resources: z.array(buildLogLineSchema).describe('Oldest first.'),
    offset: z.int().describe('To get the next page, pass this value in the next request.'),
    complete: z.boolean().describe('True: the log ends here. False: more lines exist or may follow.'),
  })
  .meta({ id: 'BuildLogPage', description: "A page of a build's log." });

const streamedSchema = z
  .union([buildLogLineSchema, streamEndSchema])
  .meta({ id: 'BuildLogStreamItem', description: 'One line of the stream.' });

const BUILDS: ReadonlySet<RevisionStatus> = new Set(['CREATING', 'AWAITING_BUILD', 'BUILDING']);

/** Whether a build is running or pending. If the cluster is not reporting, the last known status is used. */
function isAwaited({ status, build }: RevisionRecord): boolean {
  if (BUILDS.has(status)) return true;
  return status === 'UNKNOWN' && (build?.phase === 'Waiting' || build?.phase === 'Running');
}

interface Place {
  readonly tenantId: string;
  readonly deploymentId: string;
  readonly revisionId: string;
}

type LogRead = ReadLog & { readonly complete: boolean };

function logReader(deps: ApiDeps, { tenantId, deploymentId, revisionId }: Place) {
  return (page: { limit: number; offset: number }): Promise<LogRead> =>
    deps.database.forTenant(tenantId).read(async (reader) => {
      const revision = await findRevision(reader, tenantId, deploymentId, revisionId);
      if (revision === null) throw notFound('revision');
      const log = await readBuildLog(reader, tenantId, revisionId, page);
      const now = deps.clock?.() ?? new Date();
      const complete =
        log.lines.length < page.limit && isComplete(revision.build, isAwaited(revision), log.ended, now);
      return { ...log, complete };
    });
}

const endOf = (reason: StreamEndReason, end: string): StreamEnd => ({ end, reason });

interface Following {
  readonly readPage: ReturnType<typeof logReader>;
  readonly hints: WorkHints;
  readonly id: string;
  readonly page: { limit: number; offset: number };
  readonly signal: AbortSignal;
}

async function* follow({ readPage, hints, id, page, signal }: Following): AsyncGenerator<readonly object[]> {
  const until = performance.now() + FOLLOW_MS;
  let { offset } = page;
  while (!signal.aborted && performance.now() < until) {
    const ticket = hints.ticket(id);
    const { lines, complete } = await readPage({ ...page, offset });
    offset += lines.length;
    yield lines;
    if (complete) {
      yield [endOf('complete', 'The log of the build is complete.')];
      return;
    }
    if (lines.length < page.limit) await hints.wait(id, ticket, REQUERY_MS, signal);
  }
  yield [endOf('continue', `More lines may exist. Send the request again with offset ${offset}.`)];
}

/** `/v2/deployments/{id}/revisions/{id}/build-logs`. */
export function buildLogRoutes(app: FastifyInstance, deps: ApiDeps, watch = createAccessWatch(deps)): void {
  const closing = shutdownSignal(app);
  const readers = createReaders(READERS);
  const hints = deps.logHints ?? createWorkHints();
  app.withTypeProvider<ZodTypeProvider>().get(
    '/v2/deployments/:deployment_id/revisions/:revision_id/build-logs',
    {
      config: { access: { scopes: ['deployments:read'] }, waits: isFollowing },
      schema: {
        tags: ['revisions'],
        summary: 'Get the build log of a revision',
        description: `Returns the output of the build steps, oldest first, also while the build runs. Values of secrets are masked. Berth keeps at most ${KEPT_LOG.lines} lines per build, and the logs of the newest ${KEPT_BUILD_LOGS} builds of a deployment.`,
        params: revisionParams,
        querystring: query,
        response: {
          200: {
            description: 'Lines of the log.',
            content: {
              'application/json': { schema: logSchema },
              [NDJSON]: { schema: streamedSchema },
            },
          },
          ...errorAnswers(404),
        },
      },
    },
    async (request, reply) => {
      const tenantId = tenantOf(request);
      const { deployment_id: deploymentId, revision_id: revisionId } = request.params;
      const { follow: follows, ...page } = request.query;
      const readPage = logReader(deps, { tenantId, deploymentId, revisionId });
      const first = await readPage(page);
      if (!follows) {
        const { lines: resources, complete } = first;
        const offset = page.offset + resources.length;
        return reply.send({ resources: [...resources], offset, complete } as never);
      }
      onDisconnect(reply, readers.enter(tenantId));
      cutOff(reply, FOLLOW_MS);
      const lost = await watch.lost(request, reply);
      const signal = AbortSignal.any([disconnectSignal(reply, closing), lost.signal]);
      const lines = follow({ readPage, hints, id: revisionId, page, signal });
      return sendLines(reply, untilLost(lines, lost), deps.logger);
    },
  );
}
