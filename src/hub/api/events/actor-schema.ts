import { z } from 'zod';

/** The author of an event or of a change, in responses. */
export const actorSchema = z
  .object({
    kind: z.enum(['api_key', 'person', 'workload', 'listener', 'system']).describe('Kind of the actor.'),
    id: z.string().nullable().describe('Id of the actor. null: a part of the system.'),
    name: z.string().nullable().describe('Its name.'),
  })
  .meta({ id: 'EventActor', description: 'The actor.' });
