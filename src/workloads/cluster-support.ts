import type { RenderConfig } from '../contract/render/render-config.ts';
import type { ManagedDeployment } from '../contract/resource/managed-deployment.ts';
import type { ResourceSpec } from '../domain/resource-spec/resource-spec.ts';

/** Whether the cluster is Kubernetes `major.minor` or newer. */
export function kubernetesAtLeast(
  config: Pick<RenderConfig, 'kubernetesVersion'>,
  major: number,
  minor: number,
): boolean {
  const [itsMajor = 0, itsMinor = 0] = config.kubernetesVersion
    .split('.')
    .map((part) => Number.parseInt(part, 10));
  return itsMajor > major || (itsMajor === major && itsMinor >= minor);
}

/** Something that a resource asks for and this cluster is too old for. */
export interface Unsupported {
  /** Path below resource_spec. */
  readonly path: readonly (string | number)[];
  /** Path in the custom resource. */
  readonly resourcePath: string;
  readonly message: string;
}

const LISTS = [
  ['init_containers', 'initContainers'],
  ['sidecars', 'sidecars'],
] as const;

/** A container's policy beside the pod's. */
const isOfLater = ({ restartPolicy }: { readonly restartPolicy?: string | null | undefined }) =>
  restartPolicy === 'OnFailure' || restartPolicy === 'Never';

/** Whether some cluster is too old for a spec: of any other there is nothing to look for in its resource. */
export const asksForLater = (spec: ResourceSpec): boolean =>
  LISTS.some(([field]) => (spec[field] ?? []).some(isOfLater));

/** What the cluster would refuse or silently ignore because of its version; empty: nothing. */
export function unsupportedByCluster(resource: ManagedDeployment, config: RenderConfig): Unsupported[] {
  if (kubernetesAtLeast(config, 1, 35)) return [];
  return LISTS.flatMap(([field, member]) =>
    (resource.spec.podTemplate[member] ?? []).flatMap((container, index) =>
      isOfLater(container)
        ? [
            {
              path: [field, index, 'restartPolicy'],
              resourcePath: `spec.podTemplate.${member}[${index}].restartPolicy`,
              message: `${container.restartPolicy} needs Kubernetes 1.35 or newer; the cluster is ${config.kubernetesVersion}`,
            },
          ]
        : [],
    ),
  );
}
