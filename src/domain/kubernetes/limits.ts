import type { Container } from './container.ts';
import { parseQuantity } from './quantity.ts';
import type { Volume } from './volume.ts';

/**
 * Limits of 0. The kubelet reads a limit of 0 cores or bytes, and a sizeLimit of 0, as no limit, and quotas do not
 * count it. Therefore limits of 0 are rejected in every spelling. A request of 0, and 0 of an extended resource (no
 * device), are valid.
 */
export const ZERO_LIMIT =
  'must be more than 0, because Kubernetes reads 0 as no limit; omit the field to use the default';

/** The path of a limit of 0, below the list that contains it. */
export interface ZeroLimit {
  readonly path: (string | number)[];
  readonly message: string;
}

/** Whether a quantity is 0: "0", "0m", "-0", "0.0", "0e5" and so on. false for text that is not a quantity. */
export function isZeroQuantity(quantity: string): boolean {
  return parseQuantity(quantity) === 0n;
}

/**
 * The names of the limits that are 0 and therefore mean no limit: limits of cpu, memory, ephemeral-storage and huge
 * pages.
 */
export function zeroLimits(limits: Readonly<Record<string, string | undefined>> = {}): string[] {
  return Object.entries(limits).flatMap(([name, quantity]) =>
    quantity !== undefined && !name.includes('/') && isZeroQuantity(quantity) ? [name] : [],
  );
}

/** Limits of 0 in a list of containers. */
export function zeroContainerLimits(containers: readonly Pick<Container, 'resources'>[]): ZeroLimit[] {
  return containers.flatMap(({ resources }, index) =>
    zeroLimits(resources?.limits).map((name) => ({
      path: [index, 'resources', 'limits', name],
      message: ZERO_LIMIT,
    })),
  );
}

/** Limits of 0 in a list of volumes: emptyDir.sizeLimit, on disk and in memory. */
export function zeroVolumeLimits(volumes: readonly Pick<Volume, 'emptyDir'>[]): ZeroLimit[] {
  return volumes.flatMap(({ emptyDir }, index) =>
    emptyDir?.sizeLimit !== undefined && isZeroQuantity(emptyDir.sizeLimit)
      ? [{ path: [index, 'emptyDir', 'sizeLimit'], message: ZERO_LIMIT }]
      : [],
  );
}
