import { z } from 'zod';

/** The removal of the volume of a database that is switched off (part of the listener protocol, see work-protocol.ts). */

/** The largest integer that the hub stores. */
const MAX_GENERATION = 2 ** 31 - 1;

/**
 * `POST /v2/listeners/{listener_id}/volume-removals`. A listener deletes a claim only after the hub has permitted this. An
 * earlier hub does not have the path, so the listener does not delete.
 */
export const volumeRemovalRequestSchema = z.object({
  epoch: z.int(),
  deployment_id: z.uuid(),
  generation: z
    .int()
    .min(0)
    .max(MAX_GENERATION)
    .describe('Generation of the record in the custom resource that confirms the removal of the claim.'),
  claim_uid: z.string().min(1).max(64).describe('uid of the volume claim to which the confirmation applies.'),
  claim: z
    .enum(['unused', 'gone'])
    .describe(
      'unused: nothing uses the claim, and the listener asks whether it may delete the claim. gone: the claim no longer ' +
        'exists, so the hub removes remove_volume from the record.',
    ),
});
export type VolumeRemovalRequest = z.infer<typeof volumeRemovalRequestSchema>;

export const volumeRemovalResponseSchema = z.object({
  permitted: z
    .boolean()
    .describe(
      'True: the record still confirms the removal, and from now on, the hub rejects each request that takes the ' +
        'confirmation back. The listener deletes the claim. False: the listener does not delete the claim.',
    ),
});
export type VolumeRemovalResponse = z.infer<typeof volumeRemovalResponseSchema>;
