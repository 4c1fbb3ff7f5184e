import type {
  V1Container,
  V1EnvVar,
  V1PodSpec,
  V1PodTemplateSpec,
  V1TopologySpreadConstraint,
  V1Volume,
} from '@kubernetes/client-node';
import type { RenderConfig } from '../../contract/render/render-config.ts';
import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { APP_CONTAINER_NAME, DEFAULT_CONTAINER_ANNOTATION } from '../../domain/deployment/reserved.ts';
import type { Container } from '../../domain/kubernetes/container.ts';
import { ordinary, startOrder } from '../../domain/kubernetes/pod-containers.ts';
import type { Volume } from '../../domain/kubernetes/volume.ts';
import { VOLUME_KINDS } from '../../domain/kubernetes/volume-kinds.ts';
import { COMPONENTS, type Component } from '../../domain/resource-spec/components.ts';
import { mayComeFromApp } from '../../domain/resource-spec/exporter-variables.ts';
import type { PodTemplates } from '../desired-object.ts';
import { commonLabels, revisionLabels, selectorLabels } from '../labels.ts';
import { serviceAccountName } from '../names.ts';
import { appPort, commandOf, ownEnv } from '../run-settings.ts';
import { appEnv, requestedEnv } from './app-env.ts';
import { appProbes } from './app-probes.ts';
import { containerResources, withEphemeralStorage, withGpus } from './container-resources.ts';
import { podPlacement } from './pod-placement.ts';
import { appPullPolicy, givenPullPolicy } from './pull-policy.ts';
import { containerSecurity, podSecurityContext, type SecurityLevel, securityLevel } from './security.ts';

/**
 * Termination grace periods in seconds, in which api completes its requests, and the other components complete a task.
 */
const GRACE_SECONDS: Readonly<Record<Component, number>> = {
  api: 60,
  queue: 180,
  orchestrator: 180,
  executor: 180,
};

/** Topology keys over which pods of a component are spread. */
const SPREAD_KEYS = ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'];

function appContainer(
  resource: ManagedDeployment,
  component: Component,
  image: string,
  config: RenderConfig,
): V1Container {
  const { spec } = resource;
  const { envSecretName } = spec.revision;
  const { resources, gpu } = spec.components[component] ?? {};
  const storage = withEphemeralStorage(resources, config, spec.podTemplate.volumes);
  return {
    name: APP_CONTAINER_NAME,
    image,
    imagePullPolicy: appPullPolicy(resource, image, config),
    ...(envSecretName === undefined ? {} : { envFrom: [{ secretRef: { name: envSecretName } }] }),
    ...commandOf(resource, component),
    env: [...appEnv(resource, component, config), ...ownEnv(resource)],
    ...appProbes(resource, component, config, appPort(resource)),
    ...containerResources(withGpus(storage, gpu)),
    ...some('volumeMounts', spec.podTemplate.volumeMounts),
    securityContext: containerSecurity(levelOf(resource, config)),
  };
}

function levelOf({ spec }: ManagedDeployment, { podSecurity }: RenderConfig): SecurityLevel {
  return securityLevel(podSecurity, spec.podTemplate.securityProfile);
}

/** The variables that init containers and sidecars can request. */
interface AppEnv {
  readonly berth: readonly V1EnvVar[];
  readonly own: readonly V1EnvVar[];
}

/** An init container or sidecar, completed with its security context, pull policy and requested variables. */
function userContainer(
  container: Container,
  { berth, own }: AppEnv,
  level: SecurityLevel,
  config: RenderConfig,
): V1Container {
  return {
    ...container,
    imagePullPolicy: givenPullPolicy(container.image, config, container.imagePullPolicy),
    ...(container.env === undefined ? {} : { env: requestedEnv(container.env, berth, own) }),
    securityContext: containerSecurity(level, container.securityContext),
  };
}

function withSource(volume: Volume): V1Volume {
  return VOLUME_KINDS.some((kind) => volume[kind] !== undefined) ? volume : { ...volume, emptyDir: {} };
}

/** Spreads pods over nodes and zones if possible. */
function spread(resource: ManagedDeployment, component: Component): V1TopologySpreadConstraint[] {
  return SPREAD_KEYS.map((topologyKey) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels: selectorLabels(resource, component) },
  }));
}

/** Adds a list as a member of an object. Empty lists are omitted. */
function some<Name extends string, Item>(name: Name, list: Item[] | undefined): { [N in Name]?: Item[] } {
  return (list === undefined || list.length === 0 ? {} : { [name]: list }) as { [N in Name]?: Item[] };
}

function podSpec(
  resource: ManagedDeployment,
  component: Component,
  image: string,
  config: RenderConfig,
): V1PodSpec {
  const { podTemplate } = resource.spec;
  const sidecars = podTemplate.sidecars ?? [];
  const initContainers = startOrder(sidecars, podTemplate.initContainers ?? []);
  const besides = ordinary(sidecars);
  const env = {
    berth: appEnv(resource, component, config),
    own: ownEnv(resource).filter(({ name }) => mayComeFromApp(name)),
  };
  const level = levelOf(resource, config);
  return {
    serviceAccountName: serviceAccountName(resource),
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    ...some('imagePullSecrets', podTemplate.imagePullSecrets),
    securityContext: podSecurityContext(level),
    ...some(
      'initContainers',
      initContainers.map((container) => userContainer(container, env, level, config)),
    ),
    containers: [
      appContainer(resource, component, image, config),
      ...besides.map((container) => userContainer(container, env, level, config)),
    ],
    ...some('volumes', podTemplate.volumes?.map(withSource)),
    ...podPlacement(resource.spec.components[component]?.placement),
    terminationGracePeriodSeconds: GRACE_SECONDS[component],
    topologySpreadConstraints: spread(resource, component),
  };
}

function podTemplate(
  resource: ManagedDeployment,
  component: Component,
  image: string,
  config: RenderConfig,
): V1PodTemplateSpec {
  const { labels, annotations } = resource.spec.podTemplate;
  return {
    metadata: {
      labels: { ...labels, ...commonLabels(resource, component), ...revisionLabels(resource) },
      annotations: { [DEFAULT_CONTAINER_ANNOTATION]: APP_CONTAINER_NAME, ...annotations },
    },
    spec: podSpec(resource, component, image, config),
  };
}

/**
 * The pod template of each component of the resource, for its desired revision. The result is empty while the revision
 * has no image (it is not built yet).
 */
export function renderTemplates(resource: ManagedDeployment, config: RenderConfig): PodTemplates {
  const { image } = resource.spec.revision;
  if (image === undefined) return {};
  return Object.fromEntries(
    COMPONENTS.filter((component) => resource.spec.components[component] !== undefined).map((component) => [
      component,
      podTemplate(resource, component, image, config),
    ]),
  );
}
