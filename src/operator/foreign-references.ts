import { LABELS, MANAGED_BY } from '../contract/names.ts';
import { generatedFor } from '../domain/policy-references.ts';
import type { UntypedObject } from '../kube/object.ts';
import { RESOURCES } from '../kube/resources.ts';
import type { ClusterView } from './cluster-view.ts';
import { type ReferencedObject, referencedObjects } from './confinement.ts';
import type { WriteClient } from './execute.ts';
import type { Remembered } from './memory.ts';
import type { Forbidden, Observed } from './observed.ts';
import { isOurs } from './ownership.ts';

/**
 * Secrets and volume claims that pods would use and that Berth made for another deployment. Names alone do not tell:
 * those of a resource that was written by hand look like any other. So the labels are read, of names only that Berth gives.
 */

export interface ReferencesCheck {
  readonly view: Pick<ClusterView, 'resource' | 'children'>;
  readonly client: Pick<WriteClient, 'find'>;
  readonly remembered: Pick<Remembered, 'references'>;
  readonly signal: AbortSignal;
}

/** What was found, and of which spec. */
export interface CheckedReferences {
  readonly uid: string;
  readonly generation: number;
  readonly forbidden: readonly Forbidden[];
  /** One of them is of a Secret that does not exist. */
  readonly missing: boolean;
}

const FOREIGN = 'belongs to another deployment of Berth and cannot be used here';
const MISSING =
  'does not exist, and Berth gives such names to its own Secrets: make it first, or give it another name';
/** Between two looks for a Secret that is missing: no Secret is watched. */
export const MISSING_PAUSE_MS = 10_000;

/**
 * Every reference of the spec that leads to what is another deployment's, or may come to. Looked for once for each
 * generation of the spec; what pods of this resource use already, it may keep.
 * @throws KubeError when a Secret cannot be read
 */
export async function foreignReferences(
  observed: Observed,
  check: ReferencesCheck,
): Promise<readonly Forbidden[]> {
  const { uid, generation } = observed.resource.metadata;
  const { remembered } = check;
  const before = remembered.references;
  if (before?.uid === uid && before.generation === generation && !before.missing) return before.forbidden;
  const forbidden: Forbidden[] = [];
  for (const reference of referencedObjects(observed.resource)) {
    const message = mayBeForeign(reference, observed) ? await whyForbidden(reference, observed, check) : null;
    const { resourcePath, ofPodTemplate } = reference;
    if (message !== null) forbidden.push({ resourcePath, message, ofPodTemplate });
  }
  const missing = forbidden.some(({ message }) => message === MISSING);
  remembered.references = { uid, generation, forbidden, missing };
  return forbidden;
}

/** Berth gives such names. What the spec of a resource says, its name and its id, tells nothing: any writer says it. */
function mayBeForeign(reference: ReferencedObject, observed: Observed): boolean {
  return generatedFor(reference.name) !== null && !isUsedAlready(reference, observed);
}

/** Stored templates are made of nothing that was refused. */
function isUsedAlready({ name }: ReferencedObject, { storedTemplates }: Observed): boolean {
  return storedTemplates.some((stored) => refersTo(stored.templates(), name));
}

/** Fields of a pod template that hold the name of a Secret or of a volume claim. */
const NAMES = new Set(['secretName', 'claimName']);
/** Fields that hold an object with such a name, or a list of these. */
const HOLDERS = new Set(['secret', 'secretRef', 'secretKeyRef', 'nodePublishSecretRef', 'imagePullSecrets']);

/** Whether a field that refers to objects has this name: elsewhere, as in the value of a variable, it is a mere text. */
function refersTo(value: unknown, name: string, field = ''): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some((item) => refersTo(item, name, field));
  return Object.entries(value).some(
    ([key, inner]) =>
      (inner === name && (NAMES.has(key) || (key === 'name' && HOLDERS.has(field)))) ||
      refersTo(inner, name, key),
  );
}

/** Credentials of a database: Berth may make a Secret of such a name at any time, for a resource that is made later. */
const CREDENTIALS = /-(db|db-copy)$/;
const CERTIFICATE = /-tls$/;

async function whyForbidden(
  { name, kind }: ReferencedObject,
  { resource }: Observed,
  { view, client, signal }: ReferencesCheck,
): Promise<string | null> {
  const { namespace } = resource.metadata;
  const app = generatedFor(name) ?? '';
  const isOwn = app === resource.metadata.name;
  const key = `${namespace}/${app}`;
  if (kind === 'claim') {
    const claims = view.children('PersistentVolumeClaim', key);
    return claims.some(({ metadata }) => metadata.name === name) ? FOREIGN : null;
  }
  // Of certificates no label tells whose they are.
  if (CERTIFICATE.test(name)) return !isOwn && view.resource(key) !== undefined ? FOREIGN : null;
  const found = await client.find<UntypedObject>(RESOURCES.Secret, { namespace, name }, { signal });
  if (found === undefined) return !isOwn && CREDENTIALS.test(name) ? MISSING : null;
  const isOfBerth = found.metadata.labels?.[LABELS.managedBy] === MANAGED_BY;
  return isOfBerth && !isOurs(found, resource) ? FOREIGN : null;
}
