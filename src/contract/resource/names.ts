import { contentHash, fullHash, nameHash } from '../../domain/core/hash.ts';
import { MANAGED_BY_LABEL, PART_OF_LABEL } from '../../domain/kubernetes/labels.ts';
import { MAX_CRON_JOB_NAME, MAX_TASK_NAME } from './definition.ts';

/** Labels, annotations and names that control plane and data plane share. */
export const LABELS = {
  deploymentId: 'berth.dev/deployment-id',
  tenantId: 'berth.dev/tenant-id',
  revisionId: 'berth.dev/revision-id',
  name: 'app.kubernetes.io/name',
  instance: 'app.kubernetes.io/instance',
  component: 'app.kubernetes.io/component',
  partOf: PART_OF_LABEL,
  managedBy: MANAGED_BY_LABEL,
  version: 'app.kubernetes.io/version',
  /** On the objects of a build in the namespace of builds: the namespace of its ManagedDeployment. */
  namespace: 'berth.dev/namespace',
  /** On the Job of a task and its pod: the uid of the task. */
  taskUid: 'berth.dev/task-uid',
  /** On the CronJob of a schedule, its Jobs and their pods: the name of the schedule. */
  schedule: 'berth.dev/schedule',
  /** On the Secret in which the listener records the owner of a name (`identitySecretName`): one of IDENTITY_STATES. */
  identity: 'berth.dev/identity',
} as const;

/**
 * State of a name in a namespace, as the listener records it. `claimed`: the name belongs to the deployment of the hub
 * with the recorded id. `left`: the deployment was deleted with keep_workloads.
 */
export const IDENTITY_STATES = ['claimed', 'left'] as const;
export type IdentityState = (typeof IDENTITY_STATES)[number];

export { MANAGED_BY } from '../../domain/kubernetes/labels.ts';

export const ANNOTATIONS = {
  /** On the custom resource: "true" stops the operator from changing its workloads. */
  paused: 'berth.dev/paused',
  /** On a task: "true" cancels it. */
  cancel: 'berth.dev/cancel',
  /** On an owned object: hash of the last applied configuration. */
  appliedHash: 'berth.dev/applied-hash',
  /** On the custom resource: hash of the spec that the listener applied. */
  specHash: 'berth.dev/spec-hash',
  /** On the custom resource: its host was changed, and the certificate of the former host may still exist. */
  formerHost: 'berth.dev/former-host',
  /** On the custom resource: hashes of former additional hosts, whose certificates may still exist, separated by commas. */
  formerDomains: 'berth.dev/former-domains',
  /** On the custom resource: uid of the volume claim whose removal is confirmed. */
  claimToRemove: 'berth.dev/claim-to-remove',
  /** On stored templates: the revision that was active when they were created, as in the status of the custom resource. */
  formerRevision: 'berth.dev/former-revision',
  /** On stored templates: hash of the `spec.podTemplate` that they were rendered from. */
  askedPods: 'berth.dev/asked-pods',
  /** On stored templates: hash of their inputs in normal form. The label `inputs-hash` has that of the written text. */
  templateInputs: 'berth.dev/template-inputs',
  /** On pod templates: a keyed hash of the values of the Secrets that `secret_references` names. */
  secretReferences: 'berth.dev/secret-references',
  /** On the workloads of database and cache: the rendered pod template and its inputs. */
  podTemplate: 'berth.dev/pod-template',
  /** On the Job of a build and its pod: the number of the attempt, counted from 1. */
  buildAttempt: 'berth.dev/build-attempt',
  /** On the Jobs of schedules: the component that they run, and the number of its revision. */
  component: 'berth.dev/component',
  revisionNumber: 'berth.dev/revision-number',
  /** On the database volume: the image that created its data. */
  databaseImage: 'berth.dev/database-image',
} as const;

/** Field managers of server-side apply. */
export const FIELD_MANAGERS = {
  operator: 'berth-operator',
  /**
   * The field manager that owns only `spec.replicas`, so that an autoscaler can take over this field without a reset to
   * 1.
   */
  replicas: 'berth-replicas',
  listener: 'berth-listener',
} as const;

const SLUG_LENGTH = 40;

/**
 * Base name of all objects of a deployment: a slug of its name and the last 8 hex digits of its id. The ids are UUIDs
 * v7 with a random end, so two deployments of the same name do not collide.
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
 * Matches names of objects of a deployment of the hub. An object has the name of the deployment with the suffix of a
 * component, a data service, a Secret, or stored templates with their attempt. The name of the deployment ends in 8 hex
 * digits, so a number in the suffix has fewer than 8 digits.
 */
const OBJECT_OF_HUB =
  /^(.+-[0-9a-f]{8})-(api|queue|orchestrator|executor|db|db-copy|cache|tls(-[0-9a-f]{10})?|host-[0-9a-f]{10}|pull|identity|secrets|env(-\d{1,7})?|\d{1,7}(-\d{1,7})?)$/;

/** Name of the deployment of the hub that may have an object of this name. null: no deployment can. */
export function hubNameOfObject(name: string): string | null {
  return OBJECT_OF_HUB.exec(name)?.[1] ?? null;
}

/**
 * Hash of a host in the names of objects: 10 hex digits, so that no such name looks like that of a deployment of the hub, which
 * ends in 8.
 */
export function hostHash(host: string): string {
  return fullHash(['host', host]).slice(0, 10);
}

/** Name of the Lease of the operators of a cluster, in the namespace of Berth. */
export const OPERATOR_LEASE = 'berth-operator';

export { MARKER_KEY_SECRET } from '../../domain/policy/referenceable-secrets.ts';

/** Name of the immutable Secret with the environment of a revision. */
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
 * Name of the Secret and of the first Job of a build in the namespace of builds, which all deployments share. The name
 * determines which Secret the pods of a build mount, and a custom resource can contain any revision id. Therefore the
 * name contains 128 bits of a hash of the namespace, name and revision.
 */
export function buildName({ namespace, name }: Place, revisionId: string): string {
  return `${buildSlug(name, BUILD_SLUG_LENGTH)}-${nameHash([namespace, name, revisionId])}`;
}

/**
 * The name of a build in earlier versions, with 64 bits. The hub still writes this name into the custom resource,
 * because operators of the previous version accept no other name. The name identifies the build, but does not determine
 * which Secret is mounted.
 */
export function formerBuildName({ namespace, name }: Place, revisionId: string): string {
  return `${buildSlug(name, FORMER_BUILD_SLUG_LENGTH)}-${contentHash([namespace, name, revisionId])}`;
}

/** Name of the Job of one attempt of a build. */
export function buildJobName(name: string, attempt: number): string {
  return attempt === 1 ? name : `${name}-${attempt}`;
}

const TASK_APP_LENGTH = 43;
const TASK_ID_LENGTH = 12;

/** Name of the DeploymentTask of a task of the hub. The ids are UUIDs v7 with a random end. */
export function taskName(app: string, taskId: string): string {
  const slug = app.slice(0, TASK_APP_LENGTH).replace(/-+$/, '');
  return `${slug}-t-${taskId.replaceAll('-', '').slice(-TASK_ID_LENGTH)}`.slice(0, MAX_TASK_NAME);
}

/** Hex digits of the hash in the name of a CronJob. */
const CRON_JOB_HASH = 10;

/**
 * Name of the CronJob of a schedule: the start of both names, and a hash of them. The hash is always there, because `a-b` with `c` and `a`
 * with `b-c` would have the same name without it.
 */
export function cronJobName(app: string, schedule: string): string {
  const readable = `${app}-${schedule}`.slice(0, MAX_CRON_JOB_NAME - CRON_JOB_HASH - 1).replace(/-+$/, '');
  return `${readable}-${fullHash(['schedule', app, schedule]).slice(0, CRON_JOB_HASH)}`;
}

/** Name of the pull Secret of a deployment for the registry of the platform. */
export function pullSecretName(app: string): string {
  return `${app}-pull`;
}

/** Name of the Secret, without data, in which the listener records the owner of a name (decision 0061). */
export function identitySecretName(app: string): string {
  return `${app}-identity`;
}

/** Namespace of a tenant in cloud mode, which the listener creates. */
export function tenantNamespace(tenantId: string): string {
  return `berth-${tenantId}`;
}
