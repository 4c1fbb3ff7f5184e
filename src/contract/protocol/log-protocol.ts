import { z } from 'zod';
import { BUILD_STEP_NAMES } from '../../domain/builds/build.ts';
import { LOG_ABILITIES, logLineSchema, logQuerySchema } from '../../domain/core/log-query.ts';
import { MAX_WAIT_SECONDS } from './work-protocol.ts';

/** Messages of listeners that carry logs (part of the listener protocol, see work-protocol.ts). */

/** Most lines of one call. */
export const MAX_PIECE_LINES = 1000;
/** Most characters of the lines of one call, together; the body stays below a MiB in UTF-8 and JSON, but for oddities. */
export const MAX_PIECE_CHARACTERS = 128 * 1024;
/** Longest text of one line. */
const MAX_LINE = 10_000;
/** What is counted is kept as an integer of 32 bits; far beyond what is ever counted. */
const MAX_COUNT = 1_000_000_000;

/**
 * `POST /v2/listeners/{id}/build-logs`: lines of one attempt of a build. Compared by `first_line`: what the hub has
 * already it passes over, and of a piece that would leave a gap it takes nothing; `next_line` of the answer is what it
 * expects either way. A piece without lines asks for that.
 */
export const buildLogsRequestSchema = z.object({
  epoch: z.int(),
  revision_id: z.uuid(),
  attempt: z.int().min(1).max(MAX_COUNT).describe('Which attempt at the build.'),
  first_line: z
    .int()
    .min(0)
    .max(MAX_COUNT)
    .describe('Number of the first of these lines within the attempt, counted from 0.'),
  lines: z
    .array(
      z.object({
        at: z.iso.datetime({ offset: true }).max(40).describe('When it was written.'),
        step: z.enum(BUILD_STEP_NAMES),
        text: z.string().max(MAX_LINE),
      }),
    )
    .max(MAX_PIECE_LINES),
  last: z.boolean().optional().describe('True: the attempt has ended, and no more lines follow.'),
});
export type BuildLogsRequest = z.infer<typeof buildLogsRequestSchema>;
export type BuildLogPieceLine = BuildLogsRequest['lines'][number];
export const buildLogsResponseSchema = z.object({
  next_line: z.int().describe('The line of the attempt that the hub expects next.'),
  full: z
    .boolean()
    .describe(
      'True: send no more lines of this attempt. It has ended, the limit is reached, a later attempt has started, or the hub does not know the revision.',
    ),
});
export type BuildLogsResponse = z.infer<typeof buildLogsResponseSchema>;

/** Most readers of one listener's clusters at once. */
export const MAX_LOG_REQUESTS = 20;
/** A listener that reads for somebody says so at least this often, in milliseconds, by a chunk without lines. */
export const LOG_SIGN_OF_LIFE_MS = 5000;

/**
 * `GET /v2/listeners/{id}/log-requests?epoch=&wait_seconds=25`: who wants to read logs of workloads now; each is handed out
 * once, long-polled. Apart from the poll for work, which pauses while a listener is busy.
 */
export const logRequestsQuerySchema = z.object({
  epoch: z.coerce.number().int().min(0),
  wait_seconds: z.coerce.number().min(0).max(MAX_WAIT_SECONDS).default(0),
  knows: z
    .string()
    .max(1000)
    .default('')
    .describe(
      `What the listener knows of queries beyond what the first ones did, separated by commas: ${LOG_ABILITIES.join(', ')}. Others are passed over. Who asks for what it does not know waits for a poll that does, and is told so by the hub if none comes. A hub of before refuses the parameter.`,
    ),
});
export const logRequestsResponseSchema = z.object({
  log_requests: z.array(
    z.object({
      request_id: z.string(),
      deployment_id: z.string(),
      namespace: z.string().describe('Namespace of the pods of the deployment.'),
      query: logQuerySchema,
      http_request_id: z
        .string()
        .optional()
        .describe(
          "X-Request-Id of the reader's request, for logging. Absent: the hub has the previous version.",
        ),
    }),
  ),
});
export type LogRequest = z.infer<typeof logRequestsResponseSchema>['log_requests'][number];

/**
 * `POST /v2/listeners/{id}/log-requests/{request_id}`: lines for a reader. 404: nobody reads any more, so reading is
 * to end. `full`: not taken, the reader is slower; the same chunk is to be sent again a little later.
 */
export const logChunkSchema = z.object({
  epoch: z.int(),
  seq: z.int().min(1).max(MAX_COUNT).describe('Sequence number from 1. A repeated number is accepted once.'),
  lines: z
    .array(
      logLineSchema.extend({
        at: z.iso.datetime({ offset: true }).max(40),
        pod: z.string().max(253),
        container: z.string().max(253),
        text: z.string().max(MAX_LINE),
      }),
    )
    .max(MAX_PIECE_LINES),
  end: z.string().max(1000).optional().describe('Message that says why the log ends.'),
});
export type LogChunk = z.infer<typeof logChunkSchema>;
export const logChunkResponseSchema = z.object({ state: z.enum(['taken', 'full']) });
export type LogChunkResponse = z.infer<typeof logChunkResponseSchema>;
