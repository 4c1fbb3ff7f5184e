import { podSettingsOfResource, settingPath } from '../contract/render/pod-settings.ts';
import type { RenderConfig } from '../contract/render/render-config.ts';
import type { ManagedDeployment } from '../contract/resource/managed-deployment.ts';
import { labelKeyFields } from '../domain/pod-settings/affinity.ts';
import type { PodSettings } from '../domain/pod-settings/pod-settings.ts';
import { COMPONENTS } from '../domain/resource-spec/components.ts';
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
  /** Path below source_config. */
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

/** Label keys of a pod affinity, by component. */
const labelKeysOf = (placement: PodSettings['placement'] = {}) =>
  COMPONENTS.flatMap((component) =>
    labelKeyFields(placement[component]?.affinity ?? {}).map((path) => ({ component, path })),
  );

/**
 * Whether source_config uses a feature that some supported clusters lack. If not, the resource of the deployment need not
 * be checked.
 */
export const asksForLater = ({ resource_spec: spec, placement }: AskingConfig): boolean =>
  LISTS.some(([field]) => (spec?.[field] ?? []).some(isOfLater)) || labelKeysOf(placement).length > 0;

type AskingConfig = Pick<PodSettings, 'placement'> & {
  readonly resource_spec?: ResourceSpec | null | undefined;
};

/** Features that the cluster would reject or silently ignore because of its version. */
export function unsupportedByCluster(resource: ManagedDeployment, config: RenderConfig): Unsupported[] {
  return [
    ...(kubernetesAtLeast(config, 1, 35) ? [] : laterRestartPolicies(resource, config)),
    ...(kubernetesAtLeast(config, 1, 31) ? [] : laterLabelKeys(resource, config)),
  ];
}

const needs = (feature: string, version: string, { kubernetesVersion }: RenderConfig) =>
  `${feature} needs Kubernetes ${version} or newer; the cluster has version ${kubernetesVersion}`;

function laterRestartPolicies({ spec }: ManagedDeployment, config: RenderConfig): Unsupported[] {
  return LISTS.flatMap(([field, member]) =>
    (spec.podTemplate[member] ?? []).flatMap((container, index) =>
      isOfLater(container)
        ? [
            {
              path: ['resource_spec', field, index, 'restartPolicy'],
              resourcePath: `spec.podTemplate.${member}[${index}].restartPolicy`,
              message: needs(String(container.restartPolicy), '1.35', config),
            },
          ]
        : [],
    ),
  );
}

function laterLabelKeys({ spec }: ManagedDeployment, config: RenderConfig): Unsupported[] {
  return labelKeysOf(podSettingsOfResource(spec).placement).map(({ component, path }) => {
    const at = ['placement', component, 'affinity', ...path];
    return { path: at, resourcePath: settingPath(at), message: needs(String(at.at(-1)), '1.31', config) };
  });
}
