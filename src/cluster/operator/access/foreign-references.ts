import type { V1PodSpec } from '@kubernetes/client-node';
import { LABELS, MANAGED_BY } from '../../../contract/resource/names.ts';
import { generatedFor } from '../../../domain/policy/generated-names.ts';
import { references } from '../../../domain/policy/policy-references.ts';
import type { ResourceSpec } from '../../../domain/resource-spec/resource-spec.ts';
import type { UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import type { WriteClient } from '../act/execute.ts';
import type { Remembered } from '../memory.ts';
import type { ClusterView } from '../observe/cluster-view.ts';
import { isOurs } from '../observe/ownership.ts';
import type { Forbidden, Observed, ObservedResource } from '../observed.ts';
import { type ReferencedObject, referencedObjects } from './spec-policy.ts';

/**
 * Finds references to Secrets, volume claims and ServiceAccounts that Berth created for another deployment. The name of
 * an object does not show its deployment, because names of resources applied by hand follow no pattern. Therefore the
 * labels are read, for names that Berth can generate.
 */

export interface ReferencesCheck {
  readonly view: Pick<ClusterView, 'resource' | 'children'>;
  readonly client: Pick<WriteClient, 'find'>;
  readonly remembered: Pick<Remembered, 'references'>;
  readonly signal: AbortSignal;
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

const FOREIGN = 'belongs to another deployment of Berth and cannot be used here';
const MISSING =
  'does not exist, and Berth uses such names for objects of deployments: create the object first, or use another name';
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
    const message = mayBeForeign(reference, observed) ? await whyForbidden(reference, observed, check) : null;
    const { resourcePath, ofPodTemplate } = reference;
    if (message !== null) forbidden.push({ resourcePath, message, ofPodTemplate });
  }
  remembered.references = { uid, generation, at: ticks, pauseMs: pauseOf(forbidden) };
  return forbidden;
}

function pauseOf(forbidden: readonly Forbidden[]): number | null {
  if (forbidden.length === 0) return null;
  return forbidden.some(({ message }) => message === MISSING) ? MISSING_PAUSE_MS : FOREIGN_PAUSE_MS;
}

/**
 * Whether Berth can generate a name of this form. The spec of a resource proves nothing, because its writer chooses
 * name and id.
 */
function mayBeForeign(reference: ReferencedObject, observed: Observed): boolean {
  const { metadata } = observed.resource;
  if (reference.kind === 'serviceAccount')
    return reference.name !== metadata.name && !isUsedAlready(reference, observed);
  return generatedFor(reference.name) !== null && !isUsedAlready(reference, observed);
}

/**
 * Whether stored templates contain the reference. Stored templates never contain rejected references. Another text of
 * the template that equals the name does not count.
 */
function isUsedAlready({ name, kind }: ReferencedObject, { storedTemplates }: Observed): boolean {
  const templates = storedTemplates.flatMap((stored) => Object.values(stored.templates()));
  return templates.some(({ spec }) =>
    referencesOfPods(spec).some((used) => used.name === name && used.kind === kind),
  );
}

/** References of a stored template. All other fields hold free text of the author. */
function referencesOfPods(spec: V1PodSpec | undefined): Pick<ReferencedObject, 'name' | 'kind'>[] {
  const ofSpec = references({
    image_pull_secrets: spec?.imagePullSecrets,
    volumes: spec?.volumes,
    init_containers: spec?.initContainers,
    sidecars: spec?.containers,
  } as ResourceSpec);
  const name = spec?.serviceAccountName;
  return name === undefined ? ofSpec : [...ofSpec, { name, kind: 'serviceAccount' }];
}

/**
 * Pattern of the names of database credentials. Berth may at any time create a Secret whose name matches this pattern,
 * for a later resource.
 */
const CREDENTIALS = /-(db|db-copy)$/;
const VOLUME = /-db$/;
const CERTIFICATE = /-tls(-[0-9a-f]{10})?$/;

function whyForbidden(
  reference: ReferencedObject,
  { resource }: Observed,
  check: ReferencesCheck,
): Promise<string | null> {
  if (reference.kind === 'claim') return whyNotClaim(reference.name, resource, check);
  if (reference.kind === 'serviceAccount') return whyNotAccount(reference.name, resource, check);
  return CERTIFICATE.test(reference.name)
    ? whyNotCertificate(reference.name, resource, check)
    : whyNotSecret(reference.name, resource, check);
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
  if (known.some(({ metadata }) => metadata.name === name)) return FOREIGN;
  if (app === resource.metadata.name || !VOLUME.test(name)) return null;
  const found = await client.find<UntypedObject>(
    RESOURCES.PersistentVolumeClaim,
    { namespace, name },
    { signal },
  );
  if (found === undefined) return MISSING;
  return isForeign(found, resource) ? FOREIGN : null;
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
  if (known.some((each) => each.metadata.name === name && isForeign(each, resource))) return FOREIGN;
  if (!OF_HUB.test(name)) return null;
  const found = await client.find<UntypedObject>(RESOURCES.ServiceAccount, { namespace, name }, { signal });
  if (found === undefined) return MISSING;
  return isForeign(found, resource) ? FOREIGN : null;
}

/** Kinds that show that Berth had a deployment of this name, even if its custom resource is gone. */
const TRACES = ['Ingress', 'PersistentVolumeClaim', 'ControllerRevision'] as const;

/**
 * cert-manager does not label a certificate's Secret with its deployment. The Secret belongs to the deployment in its
 * name.
 */
async function whyNotCertificate(
  name: string,
  resource: ObservedResource,
  check: ReferencesCheck,
): Promise<string | null> {
  const { view } = check;
  const app = generatedFor(name) ?? '';
  if (app === resource.metadata.name) return null;
  const key = `${resource.metadata.namespace}/${app}`;
  const isOfDeployment =
    view.resource(key) !== undefined || TRACES.some((kind) => view.children(kind, key).length > 0);
  if (isOfDeployment) return FOREIGN;
  const found = await findSecret(name, resource, check);
  if (found === undefined) return MISSING;
  return isForeign(found, resource) ? FOREIGN : null;
}

async function whyNotSecret(
  name: string,
  resource: ObservedResource,
  check: ReferencesCheck,
): Promise<string | null> {
  const found = await findSecret(name, resource, check);
  const isOwn = generatedFor(name) === resource.metadata.name;
  if (found === undefined) return !isOwn && CREDENTIALS.test(name) ? MISSING : null;
  return isForeign(found, resource) ? FOREIGN : null;
}

function findSecret(
  name: string,
  { metadata: { namespace } }: ObservedResource,
  { client, signal }: ReferencesCheck,
): Promise<UntypedObject | undefined> {
  return client.find<UntypedObject>(RESOURCES.Secret, { namespace, name }, { signal });
}

function isForeign(found: UntypedObject, resource: ObservedResource): boolean {
  return found.metadata.labels?.[LABELS.managedBy] === MANAGED_BY && !isOurs(found, resource);
}
