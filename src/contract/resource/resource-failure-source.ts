import { z } from 'zod';
import { type FailureSource, failureSourceSchema } from '../../domain/conditions/failure-source.ts';

/** The source of a failure in the custom resource, whose names are in camelCase. */

const { container_kind, exit_code, ...sameNames } = failureSourceSchema.shape;

export const resourceFailureSourceSchema = z.object({
  ...sameNames,
  containerKind: container_kind,
  exitCode: exit_code,
});
export type ResourceFailureSource = z.infer<typeof resourceFailureSourceSchema>;

/** The source with the names of the HTTP API and of reports. */
export function reportedSource({ containerKind, exitCode, ...others }: ResourceFailureSource): FailureSource {
  return {
    ...others,
    ...(containerKind === undefined ? {} : { container_kind: containerKind }),
    ...(exitCode === undefined ? {} : { exit_code: exitCode }),
  };
}
