import type { Container } from '../kubernetes/container.ts';
import { isNativeSidecar, ordinary, startOrder } from '../kubernetes/pod-containers.ts';
import { NANO_PER_UNIT, parseQuantity } from '../kubernetes/quantity.ts';
import { isExtendedResource } from '../kubernetes/resources.ts';
import type { Gpu } from '../pod-settings/gpu.ts';
import type { EffectiveResourceSpec } from '../resource-spec/effective-spec-schema.ts';

/** What an app pod requests, as the scheduler computes it. */

type Containers = Pick<EffectiveResourceSpec, 'sidecars' | 'init_containers'>;

const sum = (amounts: readonly bigint[]) => amounts.reduce((total, amount) => total + amount, 0n);
const largest = (amounts: readonly bigint[]) =>
  amounts.reduce((most, each) => (each > most ? each : most), 0n);

/**
 * The request of a pod, in billionths. The request is the maximum of the sum of all concurrent containers, and of the sum of
 * each init container with the native sidecars that start before it.
 * @param own request of the app container, in billionths
 * @param amountOf request of another container, in billionths
 */
export function podAmount(
  { sidecars, init_containers: inits }: Containers,
  own: bigint,
  amountOf: (container: Container) => bigint,
): bigint {
  let [native, starting] = [0n, 0n];
  for (const container of startOrder(sidecars, inits)) {
    const amount = amountOf(container);
    starting = largest([starting, native + amount]);
    if (isNativeSidecar(container)) native += amount;
  }
  const running = own + sum(ordinary(sidecars).map(amountOf)) + native;
  return largest([running, starting]);
}

/** The amount of a device that a container requests. A request of a device equals its limit. */
const deviceOf = ({ resources }: Container, name: string): bigint =>
  parseQuantity(resources?.limits?.[name] ?? resources?.requests?.[name] ?? '0') ?? 0n;

/**
 * The number of devices of a pod: GPUs of the app container, and extended resources of the other containers, which may be
 * GPUs too.
 */
export function podDevices(containers: Containers, gpu: Gpu | undefined): number {
  const all = [...containers.sidecars, ...containers.init_containers];
  const named = all.flatMap(({ resources }) => [
    ...Object.keys(resources?.limits ?? {}),
    ...Object.keys(resources?.requests ?? {}),
  ]);
  const names = new Set([...(gpu === undefined ? [] : [gpu.resource]), ...named.filter(isExtendedResource)]);
  const amounts = [...names].map((name) => {
    const own = gpu?.resource === name ? BigInt(gpu.count) * NANO_PER_UNIT : 0n;
    return podAmount(containers, own, (container) => deviceOf(container, name));
  });
  return Number((sum(amounts) + NANO_PER_UNIT - 1n) / NANO_PER_UNIT);
}
