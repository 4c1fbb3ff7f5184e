import { z } from 'zod';

/** The source of a failed rollout, as specific as possible. Part of the status of the custom resource and of reports. */
export const failureSourceSchema = z.object({
  component: z
    .string()
    .max(63)
    .optional()
    .describe('Component: api, queue, orchestrator, executor, cache or database.'),
  kind: z.string().max(63).optional().describe('Kind of the object, such as Pod or PersistentVolumeClaim.'),
  object: z.string().max(253).optional().describe('Its name.'),
  container: z.string().max(63).optional().describe('Container within the pod.'),
  container_kind: z
    .enum(['app', 'init', 'sidecar'])
    .optional()
    .describe('Whether the container is the application, an init container or a sidecar.'),
  field: z
    .string()
    .max(512)
    .optional()
    .describe('Field of source_config or source_revision_config that causes the failure.'),
  exit_code: z.int().optional().describe("The container's last exit code."),
  detail: z
    .string()
    .max(2048)
    .optional()
    .describe('Details from the cluster: the last termination message, or the text of the event.'),
});
export type FailureSource = z.infer<typeof failureSourceSchema>;

/** A failure as the operator reports it. */
export interface ReportedFailure {
  /** One of REASONS. A custom resource written by hand may contain any text. */
  readonly reason: string;
  /** A sentence that begins with the source of the failure. */
  readonly message: string;
  /** Absent: not known. */
  readonly failureSource?: FailureSource | undefined;
}
