import { z } from 'zod';
import { observedDomainSchema } from '../../domain/app-hosts/domain-status.ts';
import { MAX_DOMAINS } from '../../domain/app-hosts/domains.ts';
import { conditionSchema } from '../../domain/conditions/conditions.ts';
import { buildStatusSchema } from './build.ts';
import { MAX_ROUTE_HOSTS, MAX_SYMPTOMS } from './definition.ts';
import { imageString, timeString } from './managed-deployment-parts.ts';
import { resourceFailureSourceSchema } from './resource-failure-source.ts';

/** Last observed pod counts of a component, without terminating pods. */
export const componentStatusSchema = z.strictObject({
  name: z.string().max(32).describe('api, queue, orchestrator or executor.'),
  wanted: z.int().describe('Desired pods.'),
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
  reason: z.string().max(64).describe('Reason, as one word.'),
  message: z.string().max(4096).describe('Message that names the source of the failure.'),
  failureSource: resourceFailureSourceSchema.optional().describe('Source of the failure.'),
  templates: z
    .string()
    .max(253)
    .optional()
    .describe('ControllerRevision whose rollout failed. The operator does not retry this rollout.'),
  recordGeneration: z.int().optional().describe('spec.recordGeneration at which the revision failed.'),
  inputsHash: z
    .string()
    .max(64)
    .optional()
    .describe(
      "Hash of the inputs of the revision's pod templates, as they were written. If the current inputs have another hash, a later change has been made.",
    ),
  normalInputsHash: z
    .string()
    .max(64)
    .optional()
    .describe(
      'Hash of the same inputs in normal form, so that another spelling of a quantity is not a later change. Absent if both hashes are equal.',
    ),
  serving: z
    .string()
    .max(253)
    .optional()
    .describe(
      'ControllerRevision that was active when the revision failed. If another one is active now, a later change has been made.',
    ),
});

const symptomSchema = z.strictObject({
  component: z.string().max(32).describe('api, queue, orchestrator, executor, database or cache.'),
  reason: z.string().max(64).describe('Reason, as one word.'),
  message: z.string().max(4096).describe('Message that names the source of the symptom.'),
  failureSource: resourceFailureSourceSchema.optional().describe('Source of the symptom.'),
  firstObservedTime: timeString.describe('When the symptom was first observed.'),
  lastObservedTime: timeString
    .optional()
    .describe(
      'Time of the last observation, while the recovery of the component is not certain. Absent: the symptom is observed now.',
    ),
});
export type RecordedSymptom = z.infer<typeof symptomSchema>;

/** `status` of a ManagedDeployment: the observed state. Only the operator writes the status. */
export const managedDeploymentStatusSchema = z
  .strictObject({
    observedGeneration: z.int().optional().describe('The metadata.generation that this status describes.'),
    observedRecordGeneration: z
      .int()
      .optional()
      .describe(
        'The spec.recordGeneration that is completely in effect, or the current generation if no revision was ' +
          'active before.',
      ),
    deploymentStatus: z
      .string()
      .max(32)
      .optional()
      .describe(
        'AWAITING_DELETE, UNUSED, AWAITING_DATABASE or READY. UNKNOWN while the operator does not manage the resource.',
      ),
    suspended: z.boolean().optional().describe('True: no pods were observed to run.'),
    conditions: z
      .array(conditionSchema)
      .max(16)
      .optional()
      .describe('Conditions that describe the state in detail.'),
    activeRevision: z
      .strictObject({
        ...statusRevision,
        templates: z.string().max(253).describe('ControllerRevision with the pod templates of the revision.'),
        image: z.string().max(1024).optional().describe('Image that the revision runs.'),
        scales: z
          .record(
            z.string().max(32),
            z.strictObject({
              min: z.int().min(0).describe('Minimum number of pods.'),
              max: z.int().min(0).describe('Maximum number of pods.'),
            }),
          )
          .optional()
          .describe(
            'Number of pods of each component when the revision last ran as desired. A rollback returns to these numbers.',
          ),
      })
      .optional()
      .describe(
        'The active revision. The active revision changes only when every component was observed to run the new revision.',
      ),
    failedRevision: failureSchema
      .optional()
      .describe(
        'The last revision that failed, until a newer one is active. If a change in place failed, this is the active revision.',
      ),
    failedChange: failureSchema
      .optional()
      .describe(
        'A later in-place change of the active revision that failed and was rolled back. Present only while failedRevision is the desired revision.',
      ),
    symptoms: z
      .array(symptomSchema)
      .max(MAX_SYMPTOMS)
      .optional()
      .describe(
        'Symptoms of running pods outside of rollouts, with one entry for each component and reason. Symptoms do not fail a revision.',
      ),
    rollout: z
      .strictObject({
        ...statusRevision,
        templates: z.string().max(253).describe('ControllerRevision that is being rolled out.'),
        startTime: timeString.describe(
          'Start of the rollout and of its deadline. Further changes do not move this time.',
        ),
        templatesChangeTime: timeString
          .optional()
          .describe('Time when these templates replaced other templates of the same rollout. Absent: never.'),
      })
      .optional()
      .describe('The current rollout.'),
    awaiting: z
      .strictObject({
        ...statusRevision,
        startTime: timeString.describe('Start of the wait, and of the deadline of the wait.'),
      })
      .optional()
      .describe(
        'The revision that waits for a new database or cache, which the active revision does not use, or for the start of its release command.',
      ),
    release: z
      .strictObject({
        ...statusRevision,
        task: z.string().max(63).describe('Name of the DeploymentTask that runs the command.'),
        taskUid: z.string().max(64).describe('Uid of the DeploymentTask.'),
        jobUid: z
          .string()
          .max(64)
          .describe(
            'Uid of the Job. The Job does not run before its uid is recorded here, and only this Job decides whether the revision is rolled out.',
          ),
        succeeded: z
          .boolean()
          .optional()
          .describe('True: the command has ended with exit code 0. Absent: it has not.'),
      })
      .optional()
      .describe('The release command of the desired revision, or of an earlier one that has not ended.'),
    image: z
      .strictObject({
        ...statusRevision,
        image: z.string().max(1024).describe('Image with its digest.'),
      })
      .optional()
      .describe('The resolved image of the desired revision. Absent: the image is used as specified.'),
    build: buildStatusSchema.optional(),
    volume: z
      .strictObject({
        requested: z
          .string()
          .max(64)
          .describe('Requested size of the claim. 0: the cluster rejects the claim.'),
        capacity: z
          .string()
          .max(64)
          .optional()
          .describe(
            'Capacity of the volume, and the lower limit for spec.database.storage. 0: there is no volume yet. Absent: not known, and spec.database.storage can be lowered to the requested size.',
          ),
        former: z
          .string()
          .max(64)
          .optional()
          .describe(
            'The last spec.database.storage below the capacity, which the storage system has rounded up. This size is accepted again until the volume has grown.',
          ),
      })
      .optional()
      .describe('The volume of the database. Absent: the database has no claim.'),
    keptVolume: z
      .strictObject({
        name: z.string().max(253).describe('Name of the claim.'),
        uid: z.string().max(64).describe('Uid of the claim.'),
        size: z.string().max(64).describe('Capacity of the volume, or the requested size if it has none.'),
        unused: z
          .boolean()
          .describe(
            'Whether no workload and no pod of the database is left, so that the claim can be deleted.',
          ),
      })
      .optional()
      .describe('The volume of a database that Berth does not run any more. Absent: no volume is kept.'),
    dataImages: z
      .strictObject({
        database: imageString.optional().describe('Image that the database runs.'),
        cache: imageString.optional().describe('Image that the cache runs.'),
      })
      .optional()
      .describe(
        'Images of the data services, fixed at their creation. A new default does not change these images.',
      ),
    acceptedChanges: z
      .array(
        z.strictObject({
          object: z.string().max(320).describe('Kind and name of the object.'),
          hash: z.string().max(16).describe('Hash of the applied object and the stored object.'),
          fields: z.string().max(1024).describe('The fields that differ, with their values.'),
        }),
      )
      .max(64)
      .optional()
      .describe(
        'Safe changes of an admission policy or webhook to fields that Berth writes. The pods still run the revision, so Berth does not revert these changes.',
      ),
    components: z.array(componentStatusSchema).max(4).optional().describe('Pod counts of each component.'),
    url: z.string().max(2048).optional().describe('URL of the app, when the route exists.'),
    domains: z
      .strictObject({
        recordGeneration: z
          .int()
          .describe('The spec.recordGeneration that the operator used for this observation.'),
        hosts: z
          .array(
            z.strictObject({
              ...observedDomainSchema.shape,
              challenge: z
                .string()
                .max(128)
                .optional()
                .describe(
                  'Value that the TXT record of the host had when it was verified. Another value is verified again.',
                ),
              routedBeforeProof: z
                .boolean()
                .optional()
                .describe(
                  'Whether the host was routed before the policy asked for proof. Its route stays until the host is removed from the spec.',
                ),
            }),
          )
          .max(MAX_DOMAINS)
          .describe('State of each host.'),
      })
      .optional()
      .describe('Observed state of spec.routing.domains. Absent: there are no additional hosts.'),
    routes: z
      .strictObject({
        recordGeneration: z
          .int()
          .describe('The spec.recordGeneration that the operator used for this observation.'),
        hosts: z
          .array(z.string().max(253))
          .max(MAX_ROUTE_HOSTS)
          .describe(
            'Hosts of all route objects of the deployment, including objects that are being deleted or not accepted.',
          ),
      })
      .optional()
      .describe(
        'Hosts that may still route to the deployment. A host that is not in this list is available to other deployments.',
      ),
  })
  .describe('Observed state.');
export type ManagedDeploymentStatus = z.infer<typeof managedDeploymentStatusSchema>;
