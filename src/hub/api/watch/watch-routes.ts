import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { uuidv7 } from '../../../domain/core/id.ts';
import type { Transaction } from '../../store/core/database.ts';
import { announceWatcher, sweepChanges } from '../../store/events/change-sweep.ts';
import { tenantOf } from '../core/auth.ts';
import { cutOff, disconnectSignal, shutdownSignal } from '../core/client-disconnect.ts';
import type { ApiDeps } from '../core/deps.ts';
import { NDJSON, sendLines, streamEndSchema, untilLost } from '../core/line-stream.ts';
import { integer } from '../core/query.ts';
import { UNOBSERVED } from '../observe/observer.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import type { AccessWatch } from '../tenancy/access-watch.ts';
import { ChangeFeed } from './change-feed.ts';
import { watchChanges } from './watch-stream.ts';

/**
 * Maximum number of streams per process. A stream holds at most MAX_PENDING references to lines that all streams share, and
 * a socket.
 */
const READERS = { tenant: 500, all: 1000 };
const MAX_SECONDS = 1800;
/** Group of the database's work (`forPlatform`) that sweeps belong to. */
const WATCHING = 'watch';

const changeSchema = z
  .object({
    type: z.literal('change').describe('Something has changed.'),
    key: z
      .string()
      .describe('Key of the change. A change that is sent twice has the same key. Keys have no order.'),
    deployment_id: z
      .uuid()
      .nullable()
      .describe(
        'The deployment that has changed, or was deleted. null: something else of the tenant, such as tags, keys or integrations.',
      ),
    generation: z
      .int()
      .nullable()
      .describe(
        'Generation of the deployment after the change. null: the deployment was deleted, or the change is not one of a deployment.',
      ),
  })
  .meta({ id: 'WatchChange', description: 'Something has changed. Read it to get its state.' });

const resetSchema = z
  .object({ type: z.literal('reset').describe('Changes may be missing.') })
  .meta({ id: 'WatchReset', description: 'Read everything again, because changes may be missing.' });

const itemSchema = z
  .union([changeSchema, resetSchema, streamEndSchema])
  .meta({ id: 'WatchItem', description: 'One line of the stream.' });

const query = z.strictObject({
  timeout_seconds: integer(z.int().min(1).max(MAX_SECONDS))
    .default(MAX_SECONDS)
    .describe(
      `Seconds after which the stream ends, 1 to ${MAX_SECONDS}, which is also the default. Send the request again to continue.`,
    ),
});

/** `/v2/watch`. */
export function watchRoutes(app: FastifyInstance, deps: ApiDeps, watch: AccessWatch): void {
  const closing = shutdownSignal(app);
  const { logger } = deps;
  const watcher = uuidv7();
  // Nothing needs to survive a crash: the next sweep repeats the announcement, and finds that its mark is missing.
  const write = <T>(work: (transaction: Transaction) => Promise<T>) =>
    deps.database.forPlatform(WATCHING).transaction(work, { durable: false });
  const feed = new ChangeFeed({
    announce: (tenantIds) => write((transaction) => announceWatcher(transaction, watcher, tenantIds)),
    sweep: (tenantIds, since) => write((transaction) => sweepChanges(transaction, watcher, tenantIds, since)),
    most: READERS,
    logger,
    ...(deps.sweepMs === undefined ? {} : { sweepMs: deps.sweepMs }),
  });
  deps.changeHints?.connect(feed);
  (deps.observer ?? UNOBSERVED).streaming(() => feed.size);

  app.withTypeProvider<ZodTypeProvider>().get(
    '/v2/watch',
    {
      config: { access: { scopes: ['deployments:read'] }, waits: true },
      schema: {
        tags: ['events'],
        summary: 'Watch for changes of the tenant',
        description: `Streams what has changed, as ${NDJSON}. A line names a deployment and contains no state, so that it can be late or repeated: read the deployment when its line arrives. The first line is a \`reset\`: read everything that is shown. Further resets follow when changes may be missing, for example after a failure of the database, or because the client reads slowly. There is no cursor: a new request begins with a reset. Empty lines keep the connection alive. The last line has the members \`end\` and \`reason\`.`,
        querystring: query,
        response: {
          200: { description: 'A stream of changes.', content: { [NDJSON]: { schema: itemSchema } } },
          ...errorAnswers(),
        },
      },
    },
    async (request, reply) => {
      const lost = await watch.lost(request, reply);
      const reader = await feed.open(tenantOf(request));
      const gone = disconnectSignal(reply, closing);
      gone.addEventListener('abort', () => feed.close(reader), { once: true });
      if (gone.aborted) feed.close(reader);
      const ms = request.query.timeout_seconds * 1000;
      cutOff(reply, ms);
      const signal = AbortSignal.any([gone, lost.signal]);
      return sendLines(reply, untilLost(watchChanges({ reader, signal, ms }), lost), logger);
    },
  );
}
