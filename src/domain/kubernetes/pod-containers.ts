import type { Container } from './container.ts';

/** The fields of resource_spec that contain containers, in the order in which they are checked and reported. */
const CONTAINER_LISTS = ['init_containers', 'sidecars'] as const;

/** The containers that a client adds to the pods of the app. */
export interface ContainerFields {
  readonly init_containers?: readonly Container[] | null | undefined;
  readonly sidecars?: readonly Container[] | null | undefined;
}

/** A container of a spec and its path below resource_spec, such as `['sidecars', 0]`. */
export interface ContainerAt {
  readonly container: Container;
  readonly loc: readonly [list: (typeof CONTAINER_LISTS)[number], index: number];
}

/** Every init container and sidecar of a spec. */
export function eachContainer(spec: ContainerFields): ContainerAt[] {
  return CONTAINER_LISTS.flatMap((list) =>
    (spec[list] ?? []).map((container, index) => ({ container, loc: [list, index] as const })),
  );
}

/** Whether an init container starts before the following init containers and keeps running with the app. */
export const isNativeSidecar = ({ restartPolicy }: Pick<Container, 'restartPolicy'>): boolean =>
  restartPolicy === 'Always';

/** Sidecars that start together with the app. */
export const ordinary = (sidecars: readonly Container[]): Container[] =>
  sidecars.filter((container) => !isNativeSidecar(container));

/** Containers that start before the app, in order. Native sidecars come first, so that they run during the init containers. */
export const startOrder = (sidecars: readonly Container[], inits: readonly Container[]): Container[] => [
  ...sidecars.filter(isNativeSidecar),
  ...inits,
];
