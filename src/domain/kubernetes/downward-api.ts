import { z } from 'zod';
import { isQualifiedName } from './names.ts';
import { line } from './text.ts';

/** References to fields of the pod itself, in environment variables and in volumes. */

const ENV_FIELD_PATHS: ReadonlySet<string> = new Set([
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
]);

const VOLUME_FIELD_PATHS: ReadonlySet<string> = new Set([
  'metadata.name',
  'metadata.namespace',
  'metadata.labels',
  'metadata.annotations',
  'metadata.uid',
]);

const SUBSCRIPTED = /^(metadata\.labels|metadata\.annotations)\['(.*)'\]$/;

function isFieldPath(path: string, supported: ReadonlySet<string>): boolean {
  const match = SUBSCRIPTED.exec(path);
  if (!match) return supported.has(path);
  const [, map, key = ''] = match;
  return isQualifiedName(map === 'metadata.annotations' ? key.toLowerCase() : key);
}

function fieldRefSchema(supported: ReadonlySet<string>) {
  return z
    .strictObject({
      apiVersion: z
        .literal('v1')
        .optional()
        .describe('API version of the pod to which fieldPath refers: v1.'),
      fieldPath: line(512)
        .min(1)
        .refine(
          (path) => isFieldPath(path, supported),
          `must be one of ${[...supported].join(', ')}, metadata.labels['key'], metadata.annotations['key']`,
        )
        .describe('Path of the field in the pod.'),
    })
    .describe('A field of the pod.');
}

const MEMORY_DIVISORS = [
  '0',
  '1',
  '1k',
  '1M',
  '1G',
  '1T',
  '1P',
  '1E',
  '1Ki',
  '1Mi',
  '1Gi',
  '1Ti',
  '1Pi',
  '1Ei',
];
const CPU_DIVISORS = ['0', '1m', '1'];

const RESOURCE_FIELDS = [
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
  'requests.cpu',
  'requests.memory',
  'requests.ephemeral-storage',
] as const;

const containerNameField = line(63).min(1);

const resourceFieldShape = {
  resource: z.enum(RESOURCE_FIELDS).describe('Limit or request to read.'),
  divisor: line(8)
    .min(1)
    .optional()
    .describe('Unit of the value. For cpu: 1m or 1. For bytes: 1, 1k … 1E, 1Ki … 1Ei. Default 1.'),
};

function checkDivisor(
  ref: { resource: string; divisor?: string | undefined },
  ctx: Pick<z.core.$RefinementCtx, 'addIssue'>,
): void {
  const allowed = ref.resource.endsWith('.cpu') ? CPU_DIVISORS : MEMORY_DIVISORS;
  if (ref.divisor !== undefined && !allowed.includes(ref.divisor)) {
    ctx.addIssue({ code: 'custom', path: ['divisor'], message: `must be one of ${allowed.join(', ')}` });
  }
}

/** fieldRef of an environment variable. */
export const envFieldRefSchema = fieldRefSchema(ENV_FIELD_PATHS);

/**
 * resourceFieldRef of an environment variable. Without containerName, a resourceFieldRef refers to the container
 * itself.
 */
export const envResourceFieldRefSchema = z
  .strictObject({
    containerName: containerNameField
      .optional()
      .describe('Container whose resources are read. Default: this container.'),
    ...resourceFieldShape,
  })
  .superRefine(checkDivisor)
  .describe('A limit or request of a container.');

/**
 * fieldRef of a file in a volume. Such a fieldRef can also refer to all labels or annotations, but not to the status.
 */
export const volumeFieldRefSchema = fieldRefSchema(VOLUME_FIELD_PATHS);

/** resourceFieldRef of a file in a volume. The container must be named. */
export const volumeResourceFieldRefSchema = z
  .strictObject({
    containerName: containerNameField.describe('Container whose resources are read.'),
    ...resourceFieldShape,
  })
  .superRefine(checkDivisor)
  .describe('A limit or request of a container.');
