import { z } from 'zod';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import type { EventRecord } from '../../store/core/events.ts';
import { streamEndSchema } from '../core/line-stream.ts';
import { timeSchema } from '../deployments/deployment-schema.ts';
import { actorSchema } from './actor-schema.ts';
import { streamCursor } from './event-cursor.ts';

/** Where clients find the reasons of events. */
export const REASONS_LISTED = 'The section Reasons of docs/lifecycle.md lists the reasons of events.';

const EXAMPLE_ID = '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a77';

const eventSchema = z
  .object({
    id: uuidSchema.describe('Id, a UUID.'),
    tenant_id: uuidSchema
      .nullable()
      .describe('The tenant of the event, even if the tenant was deleted. null: the platform.'),
    deployment_id: uuidSchema.nullable().describe('The deployment of the event, if any.'),
    revision_id: uuidSchema.nullable().describe('The revision of the event, if any.'),
    at: timeSchema.describe('Time of the event.'),
    actor: actorSchema,
    reason: z.string().meta({
      description: `Reason of the event, one of a fixed list. ${REASONS_LISTED}`,
      examples: ['Patched'],
    }),
    message: z.string().describe('Message of the event.'),
    details: z.record(z.string(), z.unknown()).describe('Details in a form for programs.'),
  })
  .meta({ id: 'Event', description: 'An event.' });

export const eventListSchema = z
  .object({
    resources: z.array(eventSchema).describe('Newest first.'),
    offset: z
      .int()
      .nullable()
      .describe('To get the next page, pass this value in the next request. null: the request had a cursor.'),
    cursor: z
      .string()
      .nullable()
      .meta({
        description:
          'To get the next page, also when new events are stored, pass this value in the next request. null: no older event matches.',
        examples: [EXAMPLE_ID],
      }),
  })
  .meta({ id: 'EventPage', description: 'A page of events.' });

const cursorSchema = z.string().meta({
  description:
    'To continue after this line, pass this value in the next request with `follow` and the same filters.',
  examples: [streamCursor({ position: 1042, id: EXAMPLE_ID })],
});

/** A line of a stream. */
export const eventLineSchema = z
  .union([
    eventSchema.extend({ cursor: cursorSchema }).meta({
      id: 'StreamedEvent',
      description: 'An event of a stream, with the cursor that continues the stream after it.',
    }),
    streamEndSchema
      .extend({
        cursor: cursorSchema
          .optional()
          .describe(
            'To continue after the last line, pass this value in the next request with `follow` and the same filters. Absent when the stream is complete, and when an error ended the stream: then use the `cursor` of the last event.',
          ),
      })
      .meta({ id: 'EventStreamEnd', description: 'The end of a stream.' }),
  ])
  .meta({ id: 'EventStreamItem', description: 'One line of the stream.' });

/** An event in a response. */
export function presentEvent(event: EventRecord): z.infer<typeof eventSchema> {
  return {
    id: event.id,
    tenant_id: event.tenantId,
    deployment_id: event.deploymentId,
    revision_id: event.revisionId,
    at: event.at.toISOString(),
    actor: { kind: event.actorKind, id: event.actorId, name: event.actorName },
    reason: event.reason,
    message: event.message,
    details: event.details,
  };
}
