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

/** A feature of a resource that this cluster does not support. */
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

/** Whether a container has a restart policy that needs a newer cluster. */
const isOfLater = ({ restartPolicy }: { readonly restartPolicy?: string | null | undefined }) =>
  restartPolicy === 'OnFailure' || restartPolicy === 'Never';

/**
 * Whether a spec uses a feature that some supported clusters lack. If not, the resource of the deployment need not be
 * checked.
 */
export const asksForLater = (spec: ResourceSpec): boolean =>
  LISTS.some(([field]) => (spec[field] ?? []).some(isOfLater));

/** Features that the cluster would reject or silently ignore because of its version. */
export function unsupportedByCluster(resource: ManagedDeployment, config: RenderConfig): Unsupported[] {
  if (kubernetesAtLeast(config, 1, 35)) return [];
  return LISTS.flatMap(([field, member]) =>
    (resource.spec.podTemplate[member] ?? []).flatMap((container, index) =>
      isOfLater(container)
        ? [
            {
              path: [field, index, 'restartPolicy'],
              resourcePath: `spec.podTemplate.${member}[${index}].restartPolicy`,
              message:
                `${container.restartPolicy} needs Kubernetes 1.35 or newer; the cluster has version ` +
                `${config.kubernetesVersion}`,
            },
          ]
        : [],
    ),
  );
}
