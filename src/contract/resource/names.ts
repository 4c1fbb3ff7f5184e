import { contentHash, nameHash } from '../../domain/core/hash.ts';

/** Labels, annotations and names on which control plane and data plane agree. */
export const LABELS = {
  deploymentId: 'berth.dev/deployment-id',
  tenantId: 'berth.dev/tenant-id',
  revisionId: 'berth.dev/revision-id',
  name: 'app.kubernetes.io/name',
  instance: 'app.kubernetes.io/instance',
  component: 'app.kubernetes.io/component',
  partOf: 'app.kubernetes.io/part-of',
  managedBy: 'app.kubernetes.io/managed-by',
  version: 'app.kubernetes.io/version',
  /** On what a build needs in the namespace of builds: the namespace of its ManagedDeployment. */
  namespace: 'berth.dev/namespace',
  /** On the listener's record of a name (`identitySecretName`): one of IDENTITY_STATES. */
  identity: 'berth.dev/identity',
} as const;

/**
 * What the listener records of a name in a namespace. `claimed`: the name belongs to the hub's deployment of that id.
 * `left`: that deployment left Berth with keep_workloads.
 */
export const IDENTITY_STATES = ['claimed', 'left'] as const;
export type IdentityState = (typeof IDENTITY_STATES)[number];

/** The node of a local builder (`berth builder`): its label, and the taint that keeps other pods away. */
export const NODE_OF_BUILDS = {
  label: 'berth.dev/builder',
  taint: { key: 'berth.dev/builder', value: 'true', effect: 'NoSchedule' },
} as const;

/** Value of `app.kubernetes.io/managed-by` on everything that Berth made: its mark of ownership. */
export const MANAGED_BY = 'berth';

export const ANNOTATIONS = {
  /** On the custom resource: "true" stops the operator from touching its workloads. */
  paused: 'berth.dev/paused',
  /** On an owned object: hash of what was applied last. */
  appliedHash: 'berth.dev/applied-hash',
  /** On the custom resource: hash of the spec that the listener applied. */
  specHash: 'berth.dev/spec-hash',
  /** On the custom resource: its host was changed, and a certificate of the former one may still be there. */
  formerHost: 'berth.dev/former-host',
  /** On stored templates: the revision that was active when they were made, as in the custom resource's status. */
  formerRevision: 'berth.dev/former-revision',
  /** On stored templates: hash of the `spec.podTemplate` that they were rendered from. */
  askedPods: 'berth.dev/asked-pods',
  /** On the workloads of database and cache: the pod template as it was rendered, and what it was rendered from. */
  podTemplate: 'berth.dev/pod-template',
  /** On the Job of a build and its pod: which attempt it is, counted from 1. */
  buildAttempt: 'berth.dev/build-attempt',
  /** On the database volume: the image that its data was made with. */
  databaseImage: 'berth.dev/database-image',
} as const;

/** Field managers of server-side apply. */
export const FIELD_MANAGERS = {
  operator: 'berth-operator',
  /** Owns `spec.replicas` alone, so that an autoscaler can take it over without a reset to 1. */
  replicas: 'berth-replicas',
  listener: 'berth-listener',
} as const;

const SLUG_LENGTH = 40;

/**
 * Base name of all objects of a deployment: readable slug of its name + last 8 hex digits of its id.
 * The ids are UUID v7, whose end is random: two deployments of one name do not collide.
 */
export function appName(name: string, id: string): string {
  const slug = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, SLUG_LENGTH)
    .replace(/-+$/, '');
  return `${slug === '' ? 'app' : slug}-${id.replaceAll('-', '').slice(-8)}`;
}

/**
 * What follows the name of a hub's deployment in the names of its objects: components and data services, Secrets, stored
 * templates with their attempts. A name that the hub gives ends in 8 hex digits, so a number has fewer than 8 digits.
 */
const OBJECT_OF_HUB =
  /^(.+-[0-9a-f]{8})-(api|queue|orchestrator|executor|db|db-copy|cache|tls|pull|identity|secrets|env(-\d{1,7})?|\d{1,7}(-\d{1,7})?)$/;

/** Name of the hub's deployment that may have an object of this name; null: the hub gives no such name to an object. */
export function hubNameOfObject(name: string): string | null {
  return OBJECT_OF_HUB.exec(name)?.[1] ?? null;
}

/** Name of the Lease that the operators of a cluster share, in Berth's own namespace. */
export const OPERATOR_LEASE = 'berth-operator';

/** Name of the immutable Secret that holds the environment of one revision. */
export function envSecretName(app: string, revisionNumber: number): string {
  return `${app}-env-${revisionNumber}`;
}

interface Place {
  readonly namespace: string;
  readonly name: string;
}

const BUILD_SLUG_LENGTH = 20;
const FORMER_BUILD_SLUG_LENGTH = 36;

function buildSlug(name: string, length: number): string {
  return name.slice(0, length).replace(/-+$/, '');
}

/**
 * Name of what one build needs in the namespace of builds, which all deployments share: its Secret and the Job of its
 * first attempt. The name decides which Secret the pods of a build mount, and a custom resource may carry any revision
 * id, so the name holds 128 bits of a hash of the place and the revision.
 */
export function buildName({ namespace, name }: Place, revisionId: string): string {
  return `${buildSlug(name, BUILD_SLUG_LENGTH)}-${nameHash([namespace, name, revisionId])}`;
}

/**
 * The name that earlier versions gave a build, with 64 bits. The hub still writes it into the custom resource, since an
 * operator of the version before accepts no other one. It identifies the build; no Secret is mounted because of it.
 */
export function formerBuildName({ namespace, name }: Place, revisionId: string): string {
  return `${buildSlug(name, FORMER_BUILD_SLUG_LENGTH)}-${contentHash([namespace, name, revisionId])}`;
}

/** Job of one attempt of a build. */
export function buildJobName(name: string, attempt: number): string {
  return attempt === 1 ? name : `${name}-${attempt}`;
}

/** Name of the Secret with which the cluster pulls a deployment's images from the registry of the platform. */
export function pullSecretName(app: string): string {
  return `${app}-pull`;
}

/** Name of the Secret without data in which the listener records whose a name is; see decision 0061. */
export function identitySecretName(app: string): string {
  return `${app}-identity`;
}

/** Namespace of a tenant in cloud mode: one per tenant, made by the listener. */
export function tenantNamespace(tenantId: string): string {
  return `berth-${tenantId}`;
}
