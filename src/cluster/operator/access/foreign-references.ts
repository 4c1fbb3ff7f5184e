import type { V1PodSpec } from '@kubernetes/client-node';
import { LABELS, MANAGED_BY } from '../../../contract/resource/names.ts';
import { generatedFor, references } from '../../../domain/policy/policy-references.ts';
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
 * Secrets, volume claims and ServiceAccounts that pods would use and that Berth made for another deployment. Names alone do not tell:
 * those of a resource that was written by hand look like any other. So the labels are read, of names only that Berth gives.
 */

export interface ReferencesCheck {
  readonly view: Pick<ClusterView, 'resource' | 'children'>;
  readonly client: Pick<WriteClient, 'find'>;
  readonly remembered: Pick<Remembered, 'references'>;
  readonly signal: AbortSignal;
  /** Time of this look, in ticks (look-time.ts). */
  readonly ticks: number;
}

/** What was found, and of which spec. */
export interface CheckedReferences {
  readonly uid: string;
  readonly generation: number;
  /** When it was found, in ticks. */
  readonly at: number;
  /** How long until a reference that is forbidden now is checked again, in ms; null: none is forbidden. */
  readonly pauseMs: number | null;
}

const FOREIGN = 'belongs to another deployment of Berth and cannot be used here';
const MISSING =
  'does not exist, and Berth gives such names to what it makes for a deployment: make it first, or give it another name';
/** Between two checks for an object that is missing: what Berth did not make is not watched. */
const MISSING_PAUSE_MS = 10_000;
/** Between two checks of an object that is another deployment's: it may be deleted, and made again by its user. */
const FOREIGN_PAUSE_MS = 30_000;
/** What is allowed is checked again after so long, until the pods of the resource use it. */
const ALLOWED_MS = 30_000;

/**
 * Every reference of the spec that leads to what is another deployment's, or may come to. What was found is only
 * remembered for a while, as the objects may change; what pods of this resource use already, it may keep.
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

/** Berth gives such names. What the spec of a resource says, its name and its id, tells nothing: any writer says it. */
function mayBeForeign(reference: ReferencedObject, observed: Observed): boolean {
  const { metadata } = observed.resource;
  if (reference.kind === 'serviceAccount')
    return reference.name !== metadata.name && !isUsedAlready(reference, observed);
  return generatedFor(reference.name) !== null && !isUsedAlready(reference, observed);
}

/** Stored templates are made of nothing that was refused. A text of the template that equals the name is no use of it. */
function isUsedAlready({ name, kind }: ReferencedObject, { storedTemplates }: Observed): boolean {
  const templates = storedTemplates.flatMap((stored) => Object.values(stored.templates()));
  return templates.some(({ spec }) =>
    referencesOfPods(spec).some((used) => used.name === name && used.kind === kind),
  );
}

/** What the pods of a stored template use. Other fields than these hold any text that the author chooses. */
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

/** Credentials of a database: Berth may make a Secret of such a name at any time, for a resource that is made later. */
const CREDENTIALS = /-(db|db-copy)$/;
const VOLUME = /-db$/;
const CERTIFICATE = /-tls$/;

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

/** Claims that Berth did not make are not watched, so one that is not known is asked for. */
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

/** Name that the hub gives a deployment, and with it a ServiceAccount. */
const OF_HUB = /-[0-9a-f]{8}$/;

/** Any name may become that of a deployment made by hand. Only one that the hub would give has to exist first. */
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

/** Kinds that show that Berth has made a deployment of a name, also when its custom resource is gone. */
const TRACES = ['Ingress', 'PersistentVolumeClaim', 'ControllerRevision'] as const;

/** The issuer labels a certificate with nothing of the deployment: it belongs to the one whose name it has. */
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
