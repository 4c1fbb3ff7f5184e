import { z } from 'zod';
import type { Reason } from '../conditions/conditions.ts';

/** Builds of git_host revisions: what the operator tells of one, and what the hub keeps of it. */

/** `Waiting`: for its turn. `Running`: its Job is there. `Succeeded`, `Failed`: its last word. */
export const BUILD_PHASES = ['Waiting', 'Running', 'Succeeded', 'Failed'] as const;
export type BuildPhase = (typeof BUILD_PHASES)[number];

/** Steps of a build, in order; each is a container of the Job, named so. */
export const BUILD_STEPS = {
  source: 'Clones the repository, reads the configuration and writes the Dockerfile where there is none.',
  image: 'Builds the image and pushes it to the registry of the platform.',
  result: 'Tells the digest and the commit.',
} as const;
export type BuildStep = keyof typeof BUILD_STEPS;
export const BUILD_STEP_NAMES = Object.keys(BUILD_STEPS) as [BuildStep, ...BuildStep[]];

/** Reasons of a build that has failed. */
export const BUILD_FAILURES = [
  'BuildFailed',
  'BuildConfigInvalid',
  'RefNotFound',
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

/** Through no fault of the source, and may be over a moment later: tried again a few times before it counts. */
export const PASSING_FAILURES: readonly BuildFailureReason[] = [
  'GitHostUnavailable',
  'RegistryUnavailable',
  'BuildLost',
];

/** `reason` if it is one of a failed build, else that the build has failed. */
export function buildFailureReason(reason: string): BuildFailureReason {
  return BUILD_FAILURES.find((known) => known === reason) ?? 'BuildFailed';
}

/** A full commit id: SHA-1 or SHA-256, hexadecimal. */
export const commitShaSchema = z
  .string()
  .max(64)
  .regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/)
  .describe('Commit id, 40 or 64 hexadecimal digits.');

/** How the build of a revision went; `revisions.build` and part of the API's Revision. */
export const revisionBuildSchema = z.strictObject({
  phase: z.enum(BUILD_PHASES).describe('Phase of the build.'),
  step: z.enum(BUILD_STEP_NAMES).optional().describe('The step that is running or failed.'),
  started_at: z.string().max(40).optional().describe('Start time of the Job.'),
  finished_at: z.string().max(40).optional().describe('Time of the final status.'),
});
export type RevisionBuild = z.infer<typeof revisionBuildSchema>;
