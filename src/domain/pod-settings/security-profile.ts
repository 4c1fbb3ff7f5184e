import { z } from 'zod';

/** The security profiles that a deployment can request for its pods. */
export const SECURITY_PROFILES = ['baseline', 'restricted'] as const;

export const securityProfileSchema = z
  .enum(SECURITY_PROFILES)
  .describe(
    'Security profile of the pods. restricted: the Pod Security level restricted, so no container runs as root. ' +
      'baseline: containers keep the default capabilities of the container runtime, so that images that start as ' +
      'root run. Not available in cloud. Default: all capabilities are dropped, and the image chooses the user.',
  )
  .meta({ examples: ['restricted'] });
export type SecurityProfile = z.infer<typeof securityProfileSchema>;
