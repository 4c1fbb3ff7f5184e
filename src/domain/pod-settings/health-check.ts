import { z } from 'zod';
import { byteLength, text } from '../kubernetes/text.ts';

/** How Kubernetes finds out whether the app container of a component works. */

export const HEALTH_CHECK_TYPES = ['http', 'tcp', 'exec', 'none'] as const;
export type HealthCheckType = (typeof HEALTH_CHECK_TYPES)[number];

/** Hard limits, in seconds and numbers. Kubernetes has no upper limits. */
export const HEALTH_CHECK_LIMITS = {
  path: 1024,
  arguments: 64,
  argument: 4096,
  /** Of a command as JSON. A pod template contains it in three probes, and etcd accepts 1.5 MiB per object. */
  commandBytes: 4096,
  timeoutSeconds: 300,
  periodSeconds: 300,
  failureThreshold: 100,
  startupSeconds: 3600,
} as const;

/** Values of fields that are not set. */
export const HEALTH_CHECK_DEFAULTS = { timeoutSeconds: 5, periodSeconds: 5, failureThreshold: 3 } as const;

const most = HEALTH_CHECK_LIMITS;

/** A path with an optional query, as it is sent in a request. */
export const HEALTH_PATH = /^\/[!-"$-~]*$/;

/** The fields that each type may have, besides `type`. */
const FIELDS: Readonly<Record<HealthCheckType, readonly string[]>> = {
  http: ['path', 'port', 'timeout_seconds', 'period_seconds', 'failure_threshold', 'startup_seconds'],
  tcp: ['port', 'timeout_seconds', 'period_seconds', 'failure_threshold', 'startup_seconds'],
  exec: ['command', 'timeout_seconds', 'period_seconds', 'failure_threshold', 'startup_seconds'],
  none: [],
};

export const healthCheckSchema = z
  .strictObject({
    type: z
      .enum(HEALTH_CHECK_TYPES)
      .describe(
        'http: a GET returns 2xx or 3xx. tcp: the port accepts a connection. exec: a command in the container ends with ' +
          'exit code 0. none: a container is ready as soon as it runs.',
      ),
    path: z
      .string()
      .max(most.path)
      .regex(HEALTH_PATH, "must begin with '/' and contain no spaces, no '#' and only ASCII characters")
      .optional()
      .describe('Path of the request. Only for http. Default: /.'),
    port: z
      .int()
      .min(1)
      .max(65_535)
      .optional()
      .describe('Port in the container. Only for http and tcp. Default: the port of the app.'),
    command: z
      .array(text(most.argument))
      .min(1)
      .max(most.arguments)
      .refine((command) => byteLength(JSON.stringify(command)) <= most.commandBytes, {
        message: `must not be larger than ${most.commandBytes} bytes as JSON. Put longer commands into a script of the image`,
      })
      .optional()
      .describe(
        'Program and arguments. Required for exec. The command runs without a shell. At most 4096 bytes as JSON.',
      ),
    timeout_seconds: z
      .int()
      .min(1)
      .max(most.timeoutSeconds)
      .optional()
      .describe('Seconds after which a check without an answer has failed. Default: 5.'),
    period_seconds: z
      .int()
      .min(1)
      .max(most.periodSeconds)
      .optional()
      .describe('Seconds between two checks. Default: 5.'),
    failure_threshold: z
      .int()
      .min(1)
      .max(most.failureThreshold)
      .optional()
      .describe(
        'Number of failed checks in a row after which the pod gets no requests. After four times that time, the container ' +
          'is restarted. Default: 3.',
      ),
    startup_seconds: z
      .int()
      .min(1)
      .max(most.startupSeconds)
      .optional()
      .describe(
        'Seconds that the container has for its start before it is restarted. Default: the deadline of a rollout. A longer ' +
          'time does not extend the deadline.',
      ),
  })
  .superRefine((check, ctx) => {
    const allowed = FIELDS[check.type];
    for (const field of Object.keys(check).filter((name) => name !== 'type' && !allowed.includes(name)))
      ctx.addIssue({ code: 'custom', path: [field], message: `must not be set for the type ${check.type}` });
    if (check.type === 'exec' && check.command === undefined)
      ctx.addIssue({ code: 'custom', path: ['command'], message: 'is required for the type exec' });
  })
  .describe('Health check of the app container of one component.')
  .meta({ examples: [{ type: 'http', path: '/healthz' }] });
export type HealthCheck = z.infer<typeof healthCheckSchema>;
