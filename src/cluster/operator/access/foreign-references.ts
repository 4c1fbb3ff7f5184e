import type { V1Container, V1PodSpec } from '@kubernetes/client-node';
import { LABELS, MANAGED_BY } from '../../../contract/resource/names.ts';
import { APP_CONTAINER_NAME } from '../../../domain/deployment/reserved.ts';
import { generatedFor } from '../../../domain/policy/generated-names.ts';
import { references } from '../../../domain/policy/policy-references.ts';
import { OF_ANOTHER } from '../../../domain/policy/referenceable-secrets.ts';
import type { ResourceSpec } from '../../../domain/resource-spec/resource-spec.ts';
import type { UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import type { Remembered } from '../memory.ts';
import { isOurs } from '../observe/ownership.ts';
import type { Forbidden, Observed, ObservedResource } from '../observed.ts';
import { CREATABLE, checkSecret, MISSING, type SecretCheck } from './secret-use.ts';
import { type ReferencedObject, referencedObjects } from './spec-policy.ts';

/**
 * Finds references to Secrets that pods may not use, and to volume claims and ServiceAccounts that Berth created for another
 * deployment. The name of an object does not show its deployment, because names of resources applied by hand follow no
 * pattern. Therefore the objects are read. For claims and accounts, only names are read that Berth can generate.
 */

export interface ReferencesCheck extends SecretCheck {
  readonly remembered: Pick<Remembered, 'references'>;
  /** Time of this reconcile, in ticks (reconcile-time.ts). */
  readonly ticks: number;
}

/** A result of the check, and the spec that it belongs to. */
export interface CheckedReferences {
  readonly uid: string;
  readonly generation: number;
  /** Time of the check, in ticks. */
  readonly at: number;
  /** Pause until forbidden references are checked again, in ms; null: no reference is forbidden. */
  readonly pauseMs: number | null;
}

/** Pause between two checks of a missing object. Objects that Berth did not create are not watched. */
const MISSING_PAUSE_MS = 10_000;
/** Pause between two checks of another deployment's object. The other user may delete and recreate the object. */
const FOREIGN_PAUSE_MS = 30_000;
/** Interval at which allowed references are checked again, until the resource's pods use them. */
const ALLOWED_MS = 30_000;

/**
 * All references of the spec to an object of another deployment, or to a name that such an object may get later.
 * Results are kept only for a while, because objects may change. References that this resource's pods already use stay
 * allowed.
 * @throws KubeError when a Secret cannot be read
 */
export async function foreignReferences(
  observed: Observed,
  check: ReferencesCheck,
): Promise<readonly Forbidden[]> {
  const { uid, generation } = observed.resource.metadata;
  const { remembered, ticks } = check;
  const before = remembered.references;
  const isOfSpec = before?.uid === uid && before.generation === generation;
  if (isOfSpec && before.pauseMs === null && ticks < before.at + ALLOWED_MS) return [];
  const forbidden: Forbidden[] = [];
  for (const reference of referencedObjects(observed.resource)) {
    const message = mayBeForeign(reference, observed, check.rules)
      ? await whyForbidden(reference, observed, check)
      : null;
    const { resourcePath, ofPodTemplate } = reference;
    if (message !== null) forbidden.push({ resourcePath, message, ofPodTemplate });
  }
  remembered.references = { uid, generation, at: ticks, pauseMs: pauseOf(forbidden) };
  return forbidden;
}

function pauseOf(forbidden: readonly Forbidden[]): number | null {
  if (forbidden.length === 0) return null;
  return forbidden.some(({ message }) => CREATABLE.includes(message)) ? MISSING_PAUSE_MS : FOREIGN_PAUSE_MS;
}

/**
 * Whether the object must be checked: every Secret, and a claim whose name Berth can generate. The spec of a resource proves
 * nothing, because its writer chooses name and id.
 */
function mayBeForeign(
  reference: ReferencedObject,
  observed: Observed,
  rules: ReferencesCheck['rules'],
): boolean {
  const { metadata } = observed.resource;
  const { kind, use, name } = reference;
  // Berth itself adds its Secrets to pods, so their use in stored templates does not show that the tenant may use them.
  if (kind === 'secret' && use === 'content' && isOfBerth(name, observed, rules)) return true;
  if (isUsedAlready(reference, observed)) return false;
  if (kind === 'serviceAccount') return name !== metadata.name;
  return kind === 'secret' || generatedFor(name) !== null;
}

/** Whether Berth adds a Secret of this name to the pods of this resource. */
function isOfBerth(
  name: string,
  { resource }: Observed,
  { platformSecrets = [] }: ReferencesCheck['rules'],
): boolean {
  return (
    generatedFor(name) === resource.metadata.name ||
    name === resource.spec.revision.envSecretName ||
    platformSecrets.includes(name)
  );
}

type Used = Pick<ReferencedObject, 'name' | 'kind' | 'use'>;

/**
 * Whether stored templates contain the reference with the same use, or as content. A Secret that only the kubelet reads,
 * or that Berth adds to the app, may be one whose content the tenant may not read. Stored templates never contain rejected
 * references. Another text of the template that equals the name does not count.
 */
function isUsedAlready({ name, kind, use }: Used, { storedTemplates }: Observed): boolean {
  const templates = storedTemplates.flatMap((stored) => Object.values(stored.templates()));
  return templates.some(({ spec }) =>
    referencesOfPods(spec).some(
      (used) => used.name === name && used.kind === kind && (used.use === use || used.use === 'content'),
    ),
  );
}

/** References of a stored template. All other fields hold free text of the author. */
function referencesOfPods(spec: V1PodSpec | undefined): Used[] {
  const isApp = ({ name }: V1Container) => name === APP_CONTAINER_NAME;
  const containers = spec?.containers ?? [];
  const ofSpec = references({
    image_pull_secrets: spec?.imagePullSecrets,
    volumes: spec?.volumes,
    init_containers: spec?.initContainers,
    sidecars: containers.filter((container) => !isApp(container)),
  } as ResourceSpec);
  // Berth writes the container of the app. References of secret_references are checked before every rollout.
  const ofApp = references({ sidecars: containers.filter(isApp) } as ResourceSpec).map(
    (reference): Used => ({ ...reference, use: 'environment' }),
  );
  const name = spec?.serviceAccountName;
  const account: Used[] = name === undefined ? [] : [{ name, kind: 'serviceAccount', use: 'content' }];
  return [...ofSpec, ...ofApp, ...account];
}

const VOLUME = /-db$/;

async function whyForbidden(
  reference: ReferencedObject,
  { resource }: Observed,
  check: ReferencesCheck,
): Promise<string | null> {
  if (reference.kind === 'claim') return whyNotClaim(reference.name, resource, check);
  if (reference.kind === 'serviceAccount') return whyNotAccount(reference.name, resource, check);
  return (await checkSecret(reference, resource, check)).why;
}

/** Claims that Berth did not create are not watched, so unknown claims are read from the API server. */
async function whyNotClaim(
  name: string,
  resource: ObservedResource,
  { view, client, signal }: ReferencesCheck,
): Promise<string | null> {
  const { namespace } = resource.metadata;
  const app = generatedFor(name) ?? '';
  const known = view.children('PersistentVolumeClaim', `${namespace}/${app}`);
  if (known.some(({ metadata }) => metadata.name === name)) return OF_ANOTHER;
  if (app === resource.metadata.name || !VOLUME.test(name)) return null;
  const found = await client.find<UntypedObject>(
    RESOURCES.PersistentVolumeClaim,
    { namespace, name },
    { signal },
  );
  if (found === undefined) return MISSING;
  return isForeign(found, resource) ? OF_ANOTHER : null;
}

/** Name of a deployment of the hub, and of its ServiceAccount. */
const OF_HUB = /-[0-9a-f]{8}$/;

/**
 * A deployment applied by hand may have any name. Only a name that the hub could generate must exist before it is
 * used.
 */
async function whyNotAccount(
  name: string,
  resource: ObservedResource,
  { view, client, signal }: ReferencesCheck,
): Promise<string | null> {
  const { namespace } = resource.metadata;
  const known = view.children('ServiceAccount', `${namespace}/${name}`);
  if (known.some((each) => each.metadata.name === name && isForeign(each, resource))) return OF_ANOTHER;
  if (!OF_HUB.test(name)) return null;
  const found = await client.find<UntypedObject>(RESOURCES.ServiceAccount, { namespace, name }, { signal });
  if (found === undefined) return MISSING;
  return isForeign(found, resource) ? OF_ANOTHER : null;
}

function isForeign(found: UntypedObject, resource: ObservedResource): boolean {
  return found.metadata.labels?.[LABELS.managedBy] === MANAGED_BY && !isOurs(found, resource);
}
