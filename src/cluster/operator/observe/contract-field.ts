import type { V1PodSpec } from '@kubernetes/client-node';
import type { ManagedDeploymentSpec } from '../../../contract/resource/managed-deployment.ts';
import { UNNAMED_CLAIM } from '../../../domain/conditions/remedy-causes.ts';
import { eachContainer } from '../../../domain/kubernetes/pod-containers.ts';
import type { Component } from '../../../domain/resource-spec/components.ts';

/**
 * Finds the field of the API contract that an error or wait message of the cluster refers to. Kubernetes names the
 * missing object, the volume or a path of the pod. The API user sent source_config and does not know the names that
 * Kubernetes uses.
 */

type PodTemplate = ManagedDeploymentSpec['podTemplate'];
type Container = NonNullable<PodTemplate['sidecars']>[number];

/** An object or part that the spec refers to. */
interface Reference {
  /** The kind as Kubernetes writes it, in lower case. */
  readonly kind: 'serviceaccount' | 'secret' | 'configmap' | 'persistentvolumeclaim' | 'volume' | 'container';
  readonly name: string;
  /** Path below resource_spec. */
  readonly field: string;
  /** The container that has the reference; absent: the pod itself. */
  readonly container?: string;
}

/**
 * Spellings of kinds in messages: `serviceaccount "x" not found`, `error looking up service account ns/x`.
 */
const SPELLINGS: Readonly<Record<Reference['kind'], readonly string[]>> = {
  serviceaccount: ['serviceaccount', 'service account'],
  secret: ['secret'],
  configmap: ['configmap'],
  persistentvolumeclaim: ['persistentvolumeclaim'],
  volume: ['volume'],
  container: ['container'],
};

function reference(
  kind: Reference['kind'],
  name: string | undefined,
  field: string,
  container?: string,
): Reference[] {
  return name === undefined ? [] : [{ kind, name, field, ...(container === undefined ? {} : { container }) }];
}

type Volume = NonNullable<PodTemplate['volumes']>[number];

function inVolume(volume: Volume, index: number): Reference[] {
  const at = `volumes[${index}]`;
  const sources = volume.projected?.sources ?? [];
  return [
    ...reference('secret', volume.secret?.secretName, `${at}.secret.secretName`),
    ...reference('configmap', volume.configMap?.name, `${at}.configMap.name`),
    ...reference(
      'persistentvolumeclaim',
      volume.persistentVolumeClaim?.claimName,
      `${at}.persistentVolumeClaim.claimName`,
    ),
    ...reference('secret', volume.csi?.nodePublishSecretRef?.name, `${at}.csi.nodePublishSecretRef.name`),
    ...sources.flatMap((source, entry) => [
      ...reference('secret', source.secret?.name, `${at}.projected.sources[${entry}].secret.name`),
      ...reference('configmap', source.configMap?.name, `${at}.projected.sources[${entry}].configMap.name`),
    ]),
  ];
}

function inContainer({ name, env = [], envFrom = [] }: Container, at: string): Reference[] {
  return [
    ...env.flatMap(({ valueFrom }, index) => [
      ...reference(
        'secret',
        valueFrom?.secretKeyRef?.name,
        `${at}.env[${index}].valueFrom.secretKeyRef.name`,
        name,
      ),
      ...reference(
        'configmap',
        valueFrom?.configMapKeyRef?.name,
        `${at}.env[${index}].valueFrom.configMapKeyRef.name`,
        name,
      ),
    ]),
    ...envFrom.flatMap(({ secretRef, configMapRef }, index) => [
      ...reference('secret', secretRef?.name, `${at}.envFrom[${index}].secretRef.name`, name),
      ...reference('configmap', configMapRef?.name, `${at}.envFrom[${index}].configMapRef.name`, name),
    ]),
  ];
}

/** All references, the most specific first. A whole volume comes after the references inside volumes. */
function references(pod: PodTemplate): Reference[] {
  const { volumes = [], imagePullSecrets = [] } = pod;
  const lists = { init_containers: pod.initContainers, sidecars: pod.sidecars };
  const containers = eachContainer(lists).map(({ container, loc: [list, index] }) => ({
    container,
    at: `${list}[${index}]`,
  }));
  return [
    ...reference('serviceaccount', pod.serviceAccountName, 'service_account_name'),
    ...containers.flatMap(({ container, at }) => inContainer(container, at)),
    ...volumes.flatMap(inVolume),
    ...imagePullSecrets.flatMap(({ name }, index) =>
      reference('secret', name, `image_pull_secrets[${index}].name`),
    ),
    ...volumes.flatMap(({ name }, index) => reference('volume', name, `volumes[${index}]`)),
    ...containers.flatMap(({ container, at }) => reference('container', container.name, at)),
  ];
}

const NAME_CHARACTER = /[a-z0-9.-]/;

/** Whether the text contains `what`, not only as the start of a longer name. */
function holds(text: string, what: string): boolean {
  for (let at = text.indexOf(what); at >= 0; at = text.indexOf(what, at + 1)) {
    if (!NAME_CHARACTER.test(text.charAt(at + what.length))) return true;
  }
  return false;
}

/** `kind "name"`, `Kind namespace/name`, `unmounted volumes=[name]`. */
function isNamed({ kind, name }: Reference, text: string, namespace: string): boolean {
  const listed = kind === 'volume' && holds(text, `unmounted volumes=[${name}`);
  return (
    listed ||
    SPELLINGS[kind].some(
      (word) => holds(text, `${word} "${name}"`) || holds(text, `${word} ${namespace}/${name}`),
    )
  );
}

const IN_POD =
  /spec\.template\.spec\.(serviceAccountName|imagePullSecrets|volumes|initContainers|containers)(?:\[(\d{1,3})\])?/;

/** Maps a path in the rendered pod to the contract field. */
function atPath(text: string, pod: PodTemplate, rendered: V1PodSpec | undefined): string | undefined {
  const [, list, digits] = IN_POD.exec(text) ?? [];
  if (list === 'serviceAccountName') return pod.serviceAccountName && 'service_account_name';
  if (list === undefined || digits === undefined) return undefined;
  const entry = rendered?.[list as 'volumes' | 'containers']?.[Number(digits)];
  const kinds = list === 'volumes' ? ['volume'] : ['container'];
  if (list === 'imagePullSecrets') return `image_pull_secrets[${digits}]`;
  return references(pod).find(({ kind, name }) => kinds.includes(kind) && name === entry?.name)?.field;
}

const PLACED =
  /\bspec\.(?:template\.spec\.)?(affinity|tolerations|nodeSelector)\b((?:\.\w{1,63}|\[\d{1,3}\]){0,12})/;

/** Maps a path in the placement of a pod to the contract field of its component. */
function inPlacement(
  { text, component }: ClusterMessage,
  { components }: ManagedDeploymentSpec,
): string | undefined {
  const [, member, below = ''] = PLACED.exec(text) ?? [];
  const placement = component === undefined ? undefined : components[component]?.placement;
  // Without a value of the deployment, an admission webhook has set the field.
  if (member === undefined || placement?.[member as keyof typeof placement] === undefined) return undefined;
  return `placement.${component}.${member === 'nodeSelector' ? 'node_selector' : member}${below}`;
}

export interface ClusterMessage {
  /** Text of the message. */
  readonly text: string;
  /** The container that the message is about, if known. */
  readonly container?: string | undefined;
  /** The component of the pod, to resolve paths in its placement. */
  readonly component?: Component | undefined;
  /** The rendered pod, to resolve paths in it. */
  readonly rendered?: V1PodSpec | undefined;
}

const MAX_CLAIMS = 4;

/**
 * All claims of the pod, if the message is about an unbound claim without its name. The message may be about any of
 * these claims.
 */
function unnamedClaims(text: string, { volumes = [] }: PodTemplate): string[] {
  if (!UNNAMED_CLAIM.test(text)) return [];
  return volumes
    .flatMap(({ persistentVolumeClaim }, index) =>
      persistentVolumeClaim === undefined ? [] : [`volumes[${index}].persistentVolumeClaim.claimName`],
    )
    .slice(0, MAX_CLAIMS);
}

/** The contract field of the message, or all possible fields if the message is ambiguous; undefined: unknown. */
export function contractField(
  { spec, metadata }: { readonly spec: ManagedDeploymentSpec; readonly metadata: { namespace?: string } },
  message: ClusterMessage,
): string | undefined {
  const { text, container, rendered } = message;
  const lower = text.toLowerCase();
  const found = references(spec.podTemplate).filter((each) => isNamed(each, lower, metadata.namespace ?? ''));
  const own = found.find((each) => container !== undefined && each.container === container);
  // A reference in one container does not explain a problem of another container.
  const other = found.find((each) => each.container === undefined || container === undefined);
  const field = own?.field ?? other?.field ?? atPath(text, spec.podTemplate, rendered);
  const placed = field === undefined ? inPlacement(message, spec) : undefined;
  if (placed !== undefined) return `source_config.${placed}`;
  const fields = field === undefined ? unnamedClaims(text, spec.podTemplate) : [field];
  return fields.length === 0
    ? undefined
    : fields.map((each) => `source_config.resource_spec.${each}`).join(', ');
}
