import { z } from 'zod';
import { conditionSchema } from '../domain/conditions.ts';
import { culpritSchema } from '../domain/culprit.ts';
import { buildStatusSchema } from './build.ts';
import { imageString } from './managed-deployment-parts.ts';

/** Most hosts that a status lists: Berth makes two route objects with one host each at most. */
export const MAX_ROUTE_HOSTS = 64;

/** One component as last observed. Pod counts; terminating pods don't count. */
export const componentStatusSchema = z.strictObject({
  name: z.string().max(32).describe('api, queue, orchestrator or executor.'),
  wanted: z.int().describe('Pods wanted now.'),
  updated: z.int().describe('Pods of the current template.'),
  ready: z.int().describe('Ready pods.'),
  available: z.int().describe('Available pods.'),
});
export type ComponentStatus = z.infer<typeof componentStatusSchema>;

const statusRevision = {
  id: z.string().max(64).optional().describe('Id of the revision.'),
  number: z.int().describe('Number of the revision.'),
};

const failureSchema = z.strictObject({
  ...statusRevision,
  reason: z.string().max(64).describe('Why, as one word.'),
  message: z.string().max(4096).describe('Why, as a sentence that names the culprit.'),
  culprit: culpritSchema.optional().describe('What made it fail, part by part.'),
  templates: z
    .string()
    .max(253)
    .optional()
    .describe('ControllerRevision that did not come up; nothing tries it again by itself.'),
  generation: z.int().optional().describe('spec.generation at which it failed.'),
  inputsHash: z
    .string()
    .max(64)
    .optional()
    .describe('Hash of what its pod templates were to be made of: other ones are a change since then.'),
  serving: z
    .string()
    .max(253)
    .optional()
    .describe('ControllerRevision that served when it failed: another one is a change since then.'),
});

/** Most symptoms that a status lists. */
export const MAX_SYMPTOMS = 16;

const symptomSchema = z.strictObject({
  component: z.string().max(32).describe('api, queue, orchestrator, executor, database or cache.'),
  reason: z.string().max(64).describe('What is wrong, as one word.'),
  message: z.string().max(4096).describe('What is wrong, as a sentence that names the source.'),
  culprit: culpritSchema.optional().describe('Where it comes from, part by part.'),
  since: z.string().max(40).describe('When it was first seen.'),
  quietSince: z
    .string()
    .max(40)
    .optional()
    .describe(
      'Since when it is not seen, while the component has not recovered for certain. Absent: it is seen now.',
    ),
});
export type RecordedSymptom = z.infer<typeof symptomSchema>;

/** `status` of a ManagedDeployment: what was observed. Only the operator writes it. */
export const managedDeploymentStatusSchema = z
  .strictObject({
    observedGeneration: z.int().optional().describe('metadata.generation that this status speaks of.'),
    observedSpecGeneration: z
      .int()
      .optional()
      .describe(
        "spec.generation (the hub's) that is in effect: all that it wants is there, or nothing was active before.",
      ),
    status: z
      .string()
      .max(32)
      .optional()
      .describe(
        'One word: AWAITING_DELETE, UNUSED, AWAITING_DATABASE or READY; UNKNOWN while nothing is done for it.',
      ),
    suspended: z.boolean().optional().describe('True: nothing of it runs, seen so.'),
    conditions: z.array(conditionSchema).max(16).optional().describe('Conditions: the state in detail.'),
    activeRevision: z
      .strictObject({
        ...statusRevision,
        templates: z.string().max(253).describe('ControllerRevision that holds its pod templates.'),
        image: z.string().max(1024).optional().describe('Image that it runs.'),
        scales: z
          .record(
            z.string().max(32),
            z.strictObject({
              min: z.int().min(0).describe('Fewest pods.'),
              max: z.int().min(0).describe('Most pods.'),
            }),
          )
          .optional()
          .describe(
            'Pods of each component when it was last seen to run as wanted: what a failure returns to.',
          ),
      })
      .optional()
      .describe('The revision that serves: moved only when every component was observed to run it.'),
    failedRevision: failureSchema
      .optional()
      .describe(
        'The last revision that failed, until a newer one is active; the active one, where a change in place failed.',
      ),
    failedChange: failureSchema
      .optional()
      .describe(
        'While failedRevision is wanted: a change in place of the active revision that failed since, and was turned back.',
      ),
    symptoms: z
      .array(symptomSchema)
      .max(MAX_SYMPTOMS)
      .optional()
      .describe(
        'What is wrong with running pods outside of rollouts; one entry for each component and reason. It fails no revision.',
      ),
    rollout: z
      .strictObject({
        ...statusRevision,
        templates: z.string().max(253).describe('ControllerRevision that is being rolled out.'),
        startedAt: z
          .string()
          .max(40)
          .describe('When it began; the deadline counts from here, whatever is changed on the way.'),
        templatesAt: z
          .string()
          .max(40)
          .optional()
          .describe('When these templates took over from others of the same rollout; absent: never.'),
      })
      .optional()
      .describe('The rollout under way.'),
    awaiting: z
      .strictObject({
        ...statusRevision,
        since: z.string().max(40).describe('Since when; the deadline counts from here.'),
      })
      .optional()
      .describe(
        'The revision that waits for a database or cache of its own, which what runs meanwhile does not use.',
      ),
    image: z
      .strictObject({
        ...statusRevision,
        image: z.string().max(1024).describe('Pinned to its digest.'),
      })
      .optional()
      .describe('What the image of the wanted revision was resolved to; absent: it was used as given.'),
    build: buildStatusSchema.optional(),
    volume: z
      .strictObject({
        requested: z.string().max(64).describe('What its claim asks for; 0: the cluster refuses the claim.'),
        capacity: z
          .string()
          .max(64)
          .optional()
          .describe(
            'What it has: spec.database.storage may be lowered to it. 0: there is no volume yet. Absent: not known, and spec.database.storage may be lowered to what the claim asks for.',
          ),
        former: z
          .string()
          .max(64)
          .optional()
          .describe(
            'The last spec.database.storage below the capacity, which the storage system has rounded up: it is accepted again until the volume has grown.',
          ),
      })
      .optional()
      .describe("The database's volume. Absent: it has no claim."),
    dataImages: z
      .strictObject({
        database: imageString.optional().describe('Image that the database runs.'),
        cache: imageString.optional().describe('Image that the cache runs.'),
      })
      .optional()
      .describe('Images of the data services, as chosen when they were made: a new default moves neither.'),
    acceptedChanges: z
      .array(
        z.strictObject({
          object: z.string().max(320).describe('Kind and name of the object.'),
          hash: z.string().max(16).describe('Of what was applied, and of what the cluster made of it.'),
          fields: z.string().max(1024).describe('The fields that differ, and how.'),
        }),
      )
      .max(64)
      .optional()
      .describe(
        'Changes that an admission policy or webhook makes to what Berth writes, and with which the pods still run the revision: they are left as they are.',
      ),
    components: z.array(componentStatusSchema).max(4).optional().describe('Pod counts of each component.'),
    url: z.string().max(2048).optional().describe('Where it answers, once the route exists.'),
    routes: z
      .strictObject({
        generation: z
          .int()
          .describe("spec.generation (the hub's) that the operator went by when it saw this."),
        hosts: z
          .array(z.string().max(253))
          .max(MAX_ROUTE_HOSTS)
          .describe('Hosts of all of its route objects: also of those being deleted or not accepted.'),
      })
      .optional()
      .describe(
        'What may still lead to it in the cluster: a host that is not listed here is free for others.',
      ),
  })
  .describe('What was observed.');
export type ManagedDeploymentStatus = z.infer<typeof managedDeploymentStatusSchema>;
