import { z } from 'zod';
import { BUILD_STEP_NAMES } from '../../domain/builds/build.ts';
import { LISTENER_ABILITIES, logLineSchema, logQuerySchema } from '../../domain/core/log-query.ts';
import { STREAM_END_REASONS } from '../../domain/core/stream-end.ts';
import { objectRequestSchema } from './object-protocol.ts';
import { MAX_WAIT_SECONDS } from './work-protocol.ts';

/** Listener messages with logs (part of the listener protocol, see work-protocol.ts). */

/** Maximum number of lines of a call. */
export const MAX_PIECE_LINES = 1000;
/**
 * Maximum total number of characters of a call. With this limit, the body (UTF-8 in JSON) is below 1 MiB in nearly all
 * cases.
 */
export const MAX_PIECE_CHARACTERS = 128 * 1024;
/** Maximum length of a line. */
const MAX_LINE = 10_000;
/** Maximum value of counters, which are stored as 32-bit integers. */
const MAX_COUNT = 1_000_000_000;

/**
 * `POST /v2/listeners/{listener_id}/build-logs`: lines of one attempt of a build. The hub compares `first_line` with the stored
 * log. The hub skips lines that it has, and rejects a chunk after a gap. `next_line` of the response is the line that
 * the hub expects next. A chunk without lines queries `next_line`.
 */
export const buildLogsRequestSchema = z.object({
  epoch: z.int(),
  revision_id: z.uuid(),
  attempt: z.int().min(1).max(MAX_COUNT).describe('Number of the attempt.'),
  first_line: z
    .int()
    .min(0)
    .max(MAX_COUNT)
    .describe('Number of the first line of `lines` within the attempt, counted from 0.'),
  lines: z
    .array(
      z.object({
        at: z.iso.datetime({ offset: true }).max(40).describe('Time of the line.'),
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
      'True: send no more lines of this attempt. The reasons are that the attempt has ended, the limit is reached, a later attempt has started, or the hub does not know the revision.',
    ),
});
export type BuildLogsResponse = z.infer<typeof buildLogsResponseSchema>;

/** Maximum number of concurrent readers of the logs of a listener, and of concurrent readers of objects. */
export const MAX_LOG_REQUESTS = 20;
/** Keep-alive interval of a listener that serves a reader, in milliseconds. A keep-alive is a chunk without lines. */
export const LOG_SIGN_OF_LIFE_MS = 5000;

/**
 * `GET /v2/listeners/{listener_id}/log-requests?epoch=&wait_seconds=25`: long poll for readers of workload logs and of
 * objects. Each request is handed out once. This poll is separate from the poll for work, which pauses while a listener is busy.
 */
export const logRequestsQuerySchema = z.object({
  epoch: z.coerce.number().int().min(0),
  wait_seconds: z.coerce.number().min(0).max(MAX_WAIT_SECONDS).default(0),
  knows: z
    .string()
    .max(1000)
    .default('')
    .describe(
      `Optional query features that the listener supports, comma-separated: ${LISTENER_ABILITIES.join(', ')}. The hub ignores unknown features. A reader that needs a feature waits for a poll that supports it, and gets an error if none arrives. Earlier hubs reject the parameter.`,
    ),
});
export const logRequestsResponseSchema = z.object({
  log_requests: z.array(
    z.object({
      request_id: z.string(),
      deployment_id: z.string(),
      tenant_id: z
        .string()
        .optional()
        .describe('Owner of the deployment. Absent: the hub has the previous version.'),
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
  object_requests: z
    .array(objectRequestSchema)
    .optional()
    .describe('Requests to read objects. Absent: the hub has the previous version.'),
});
export type ReaderRequests = z.infer<typeof logRequestsResponseSchema>;
export type LogRequest = z.infer<typeof logRequestsResponseSchema>['log_requests'][number];

/**
 * `POST /v2/listeners/{listener_id}/log-requests/{request_id}`: lines for a reader. 404: the reader is gone, so the listener
 * stops. `full`: the hub did not accept the chunk, because the reader has not read earlier chunks yet. The listener
 * sends the same chunk again later.
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
  end: z.string().max(1000).optional().describe('Message that states why the log ends.'),
  end_reason: z
    .enum(STREAM_END_REASONS)
    .optional()
    .describe('Reason of `end`, for programs. Absent: the listener has the previous version.'),
});
export type LogChunk = z.infer<typeof logChunkSchema>;
export const logChunkResponseSchema = z.object({ state: z.enum(['taken', 'full']) });
export type LogChunkResponse = z.infer<typeof logChunkResponseSchema>;
