import { z } from 'zod';
import { isQualifiedName } from './names.ts';
import {
  NANO_PER_UNIT,
  type NanoAmount,
  parseQuantity,
  quantitySchema,
  withoutCoreNoise,
} from './quantity.ts';

/** Requests and limits of a container. Source: ValidateContainerResourceRequirements of the API server. */

const GIBI = 2n ** 30n;
const HUGE_PAGES = 'hugepages-';
const MAX_RESOURCES = 16;
/** Maximum length of the name of a resource. */
export const MAX_RESOURCE_NAME = 317;

interface ResourceKind {
  /** The amount must be a multiple of this. */
  step: NanoAmount;
  max: NanoAmount;
  stepMessage: string;
  maxMessage: string;
  /**
   * Whether requests may be below limits. Kubernetes overcommits only cpu, memory and ephemeral storage. For all other
   * resources, the request must equal the limit.
   */
  overcommit: boolean;
}

const NATIVE: Readonly<Record<string, ResourceKind>> = {
  cpu: {
    step: NANO_PER_UNIT / 1000n,
    max: 256n * NANO_PER_UNIT,
    stepMessage: 'must be a multiple of 1m (a thousandth of a core)',
    maxMessage: 'must not be more than 256 cores',
    overcommit: true,
  },
  memory: {
    step: NANO_PER_UNIT,
    max: 4096n * GIBI * NANO_PER_UNIT,
    stepMessage: 'must be a whole number of bytes',
    maxMessage: 'must not be more than 4Ti',
    overcommit: true,
  },
  'ephemeral-storage': {
    step: NANO_PER_UNIT,
    max: 65_536n * GIBI * NANO_PER_UNIT,
    stepMessage: 'must be a whole number of bytes',
    maxMessage: 'must not be more than 64Ti',
    overcommit: true,
  },
};

function extendedResource(step: NanoAmount, stepMessage: string): ResourceKind {
  return {
    step,
    stepMessage,
    max: 4096n * GIBI * NANO_PER_UNIT,
    maxMessage: 'must not be more than 4Ti',
    overcommit: false,
  };
}

/** The rules of the API server for a resource of this name; null: it rejects the name. */
function resourceKind(name: string): ResourceKind | null {
  const native = Object.hasOwn(NATIVE, name) ? NATIVE[name] : undefined;
  if (native) return native;
  if (name.startsWith(HUGE_PAGES)) {
    const pageSize = parseQuantity(name.slice(HUGE_PAGES.length));
    if (pageSize === null || pageSize <= 0n || pageSize % NANO_PER_UNIT !== 0n || !isQualifiedName(name))
      return null;
    return extendedResource(pageSize, 'must be a multiple of the page size');
  }
  const extended = name.includes('/') && !name.includes('kubernetes.io/') && !name.startsWith('requests.');
  if (!extended || !isQualifiedName(`requests.${name}`)) return null;
  return extendedResource(NANO_PER_UNIT, 'must be a whole number');
}

/** Whether the name is that of a device, such as example.com/gpu. Huge pages are no devices. */
export function isExtendedResource(name: string): boolean {
  return !Object.hasOwn(NATIVE, name) && !name.startsWith(HUGE_PAGES) && resourceKind(name) !== null;
}

type IssueSink = Pick<z.core.$RefinementCtx, 'addIssue'>;

function checkAmounts(list: Record<string, string>, ctx: IssueSink): void {
  if (Object.keys(list).length > MAX_RESOURCES) {
    ctx.addIssue({ code: 'custom', message: `must not have more than ${MAX_RESOURCES} entries` });
  }
  for (const [name, quantity] of Object.entries(list)) {
    const kind = resourceKind(name);
    const amount = parseQuantity(quantity);
    if (!kind) {
      ctx.addIssue({
        code: 'custom',
        path: [name],
        message:
          'must be cpu, memory, ephemeral-storage, hugepages-<size> or an extended resource such as example.com/gpu',
      });
    } else if (amount !== null && amount % kind.step !== 0n) {
      ctx.addIssue({ code: 'custom', path: [name], message: kind.stepMessage });
    } else if (amount !== null && amount > kind.max) {
      ctx.addIssue({ code: 'custom', path: [name], message: kind.maxMessage });
    }
  }
}

/** Removes floating-point errors, such as that of 0.1 + 0.2, from a sum of cores before the step is checked. */
const withoutNoise = (list: Record<string, string>): Record<string, string> =>
  typeof list['cpu'] === 'string' ? { ...list, cpu: withoutCoreNoise(list['cpu']) } : list;

const resourceListSchema = z
  .record(z.string().max(MAX_RESOURCE_NAME), quantitySchema)
  .overwrite(withoutNoise)
  .superRefine(checkAmounts)
  .meta({ freeForm: true });
export type ResourceList = z.infer<typeof resourceListSchema>;

function checkRequest(name: string, request: string, limit: string | undefined, ctx: IssueSink): void {
  const overcommit = resourceKind(name)?.overcommit ?? true;
  if (limit === undefined) {
    if (!overcommit)
      ctx.addIssue({
        code: 'custom',
        path: ['limits'],
        message: `must contain ${name}, because a request for ${name} needs an equal limit`,
      });
    return;
  }
  const requested = parseQuantity(request) ?? 0n;
  const limited = parseQuantity(limit) ?? 0n;
  if (!overcommit && requested !== limited) {
    ctx.addIssue({
      code: 'custom',
      path: ['requests', name],
      message: `must equal the limit of ${limit} for ${name}`,
    });
  } else if (requested > limited) {
    ctx.addIssue({
      code: 'custom',
      path: ['requests', name],
      message: `must not be more than the limit of ${limit} for ${name}`,
    });
  }
}

/** Requests and limits of a container. */
export const resourceRequirementsSchema = z
  .strictObject({
    limits: resourceListSchema.optional().describe('Limits of the container, as Kubernetes quantities.'),
    requests: resourceListSchema
      .optional()
      .describe('Requests of the container, as Kubernetes quantities. Default: the limits.'),
  })
  .superRefine(({ limits = {}, requests = {} }, ctx) => {
    const limitOf = (name: string) => (Object.hasOwn(limits, name) ? limits[name] : undefined);
    for (const [name, request] of Object.entries(requests)) checkRequest(name, request, limitOf(name), ctx);
    const names = [...Object.keys(limits), ...Object.keys(requests)];
    if (
      names.some((name) => name.startsWith(HUGE_PAGES)) &&
      !names.includes('cpu') &&
      !names.includes('memory')
    ) {
      ctx.addIssue({
        code: 'custom',
        message:
          'must contain cpu or memory in limits or requests, because Kubernetes requires one of them together ' +
          'with huge pages',
      });
    }
  })
  .describe('Requests and limits of the container.');
export type ResourceRequirements = z.infer<typeof resourceRequirementsSchema>;
