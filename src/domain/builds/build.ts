import { z } from 'zod';
import type { Reason } from '../conditions/conditions.ts';

/** Builds of revisions from repositories and uploaded folders: what the operator reports, and what the hub stores. */

/** `Waiting`: the build is in the queue. `Running`: the Job of the build exists. `Succeeded` and `Failed` are final. */
export const BUILD_PHASES = ['Waiting', 'Running', 'Succeeded', 'Failed'] as const;
export type BuildPhase = (typeof BUILD_PHASES)[number];

/** Steps of a build, in order. Each step is a container of the Job with this name. */
export const BUILD_STEPS = {
  source:
    'Clones the repository or fetches the uploaded folder, reads the configuration, and generates a missing Dockerfile.',
  image: 'Builds the image and pushes it to the registry of the platform.',
  result: 'Reports the digest and the commit.',
} as const;
export type BuildStep = keyof typeof BUILD_STEPS;
export const BUILD_STEP_NAMES = Object.keys(BUILD_STEPS) as [BuildStep, ...BuildStep[]];

/** Reasons of failed builds. */
export const BUILD_FAILURES = [
  'BuildFailed',
  'BuildConfigInvalid',
  'RefNotFound',
  'UploadMissing',
  'GitHostRefused',
  'GitHostUnavailable',
  'RegistryRefused',
  'RegistryUnavailable',
  'BuildTooLarge',
  'BuildTimeout',
  'BuildLost',
  'BuildsUnavailable',
] as const satisfies readonly Reason[];
export type BuildFailureReason = (typeof BUILD_FAILURES)[number];

/**
 * Transient failures that the source does not cause. Berth repeats a build with a transient failure a few times before
 * the build fails.
 */
export const PASSING_FAILURES: readonly BuildFailureReason[] = [
  'GitHostUnavailable',
  'RegistryUnavailable',
  'BuildLost',
];

/** Returns `reason` if it is a reason of failed builds, otherwise `BuildFailed`. */
export function buildFailureReason(reason: string): BuildFailureReason {
  return BUILD_FAILURES.find((known) => known === reason) ?? 'BuildFailed';
}

/** A full commit id: SHA-1 or SHA-256, hexadecimal. */
export const commitShaSchema = z
  .string()
  .max(64)
  .regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/)
  .describe('Commit id, 40 or 64 hexadecimal digits.');

/** State of the build of a revision: `revisions.build`, and part of the Revision of the API. */
export const revisionBuildSchema = z.strictObject({
  phase: z.enum(BUILD_PHASES).describe('Phase of the build.'),
  step: z.enum(BUILD_STEP_NAMES).optional().describe('The step that is running or failed.'),
  started_at: z.string().max(40).optional().describe('Start time of the Job.'),
  finished_at: z.string().max(40).optional().describe('Time of the final status.'),
});
export type RevisionBuild = z.infer<typeof revisionBuildSchema>;
