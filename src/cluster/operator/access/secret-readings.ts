import type { SecretReference } from '../../../domain/run-settings/run-settings.ts';
import type { UntypedObject } from '../../kube/client/object.ts';
import type { Remembered } from '../memory.ts';
import type { Observed } from '../observed.ts';
import type { ReconcileTime } from '../reconcile-time.ts';
import { isSame } from '../rollout/target.ts';
import { isPaused } from '../status/conditions.ts';
import type { MarkerKey, MarkerOf } from './marker-key.ts';
import { CREATABLE, checkSecret, type SecretCheck } from './secret-use.ts';

/**
 * Reads the Secrets that the pods of a deployment refer to by secret_references, with one GET for each Secret. Secrets are
 * neither listed nor watched. Only markers of the values are kept.
 */

/** Default interval of these reads. */
export const SECRET_POLL_MS = 60_000;
/** Interval of the reads while a Secret or key is missing and may still be created. */
const MISSING_POLL_MS = 5_000;

/** What a read of a Secret showed. */
export type SecretReading =
  | { readonly kind: 'absent' }
  /** The Secret may not be used. `why` is the end of a sentence. */
  | { readonly kind: 'refused'; readonly why: string }
  /** The markers of the referenced keys. A key that the Secret does not have is absent. */
  | { readonly kind: 'found'; readonly markers: ReadonlyMap<string, string> };

/** The last read of all Secrets of a deployment. Times are in ticks (reconcile-time.ts). */
export interface SecretReadings {
  readonly uid: string;
  readonly generation: number;
  readonly bySecret: ReadonlyMap<string, SecretReading>;
  /** The referenced Secrets and keys. */
  readonly references: string;
  /** When a Secret or key was first missing in this generation; null: nothing is missing. */
  readonly missingSince: number | null;
  /** When to read again. */
  readonly nextAt: number;
}

export interface ReadingOptions extends SecretCheck {
  readonly markerKey: Pick<MarkerKey, 'markerOf'>;
  readonly remembered: Pick<Remembered, 'secretReadings'>;
  readonly time: ReconcileTime;
  readonly pollMs: number;
  /** How long a missing Secret is waited for, in ms. */
  readonly patienceMs: number;
}

/** The references whose values matter: those of the templates that may be rendered now. */
export function referencesInUse({ resource, storedTemplates }: Observed): readonly SecretReference[] {
  const { spec, status } = resource;
  if (spec.suspend || spec.deletion !== undefined || isPaused(resource)) return [];
  const { failedRevision: failed, activeRevision: active } = status ?? {};
  const desired = spec.podTemplate.secretReferences ?? [];
  const hasFailed = failed !== undefined && isSame(failed, spec.revision);
  if (!hasFailed || (active !== undefined && isSame(failed, active))) return desired;
  // Later changes apply to the active revision. Only a revision of a resource applied by hand is tried again.
  const serving = storedTemplates.find(({ name }) => name === active?.templates);
  const used = serving?.settings().secretReferences ?? [];
  return failed.id === undefined ? [...desired, ...used] : used;
}

/** Why a reference cannot be used now, as a sentence without its end; null: its value is known. */
export function missingPart({ secretName, secretKey }: SecretReference, reading: SecretReading | undefined) {
  if (reading?.kind === 'absent') return `the Secret ${secretName} does not exist`;
  if (reading?.kind === 'found' && !reading.markers.has(secretKey))
    return `the Secret ${secretName} has no key ${secretKey}`;
  return null;
}

/**
 * Adds what the referenced Secrets contain, and reads them when this is due: in each new generation, and then at an interval.
 * @throws KubeError when a Secret cannot be read
 */
export async function withSecretReadings(observed: Observed, options: ReadingOptions): Promise<Observed> {
  const { remembered, time, pollMs, patienceMs } = options;
  const references = referencesInUse(observed);
  if (references.length === 0) {
    remembered.secretReadings = undefined;
    return observed;
  }
  const { uid, generation } = observed.resource.metadata;
  const wanted = JSON.stringify(references.map(({ secretName, secretKey }) => [secretName, secretKey]));
  const known = remembered.secretReadings;
  const isSameSpec = known?.uid === uid && known.generation === generation;
  if (isSameSpec && known.references === wanted && time.ticks < known.nextAt)
    return withReadings(observed, known, options);
  const bySecret = await readAll(observed, references, options);
  const isMissing = references.some((each) => missingPart(each, bySecret.get(each.secretName)) !== null);
  const missingSince = isMissing ? ((isSameSpec ? known.missingSince : null) ?? time.ticks) : null;
  const isWaiting = missingSince !== null && time.ticks < missingSince + patienceMs;
  const afterMs = isWaiting ? Math.min(MISSING_POLL_MS, patienceMs, pollMs) : pollMs;
  const nextAt = time.ticks + afterMs;
  const readings = { uid, generation, bySecret, references: wanted, missingSince, nextAt };
  remembered.secretReadings = readings;
  return withReadings(observed, readings, options);
}

function withReadings(
  observed: Observed,
  { bySecret, missingSince, nextAt }: SecretReadings,
  { time, patienceMs }: ReadingOptions,
): Observed {
  const isWaiting = missingSince !== null && time.ticks < missingSince + patienceMs;
  const waitsUntil = isWaiting ? time.date + (nextAt - time.ticks) : null;
  return { ...observed, secrets: { bySecret, waitsUntil } };
}

async function readAll(
  { resource }: Observed,
  references: readonly SecretReference[],
  options: ReadingOptions,
): Promise<ReadonlyMap<string, SecretReading>> {
  const markerOf = await options.markerKey.markerOf(options.signal);
  const readings = new Map<string, SecretReading>();
  for (const name of new Set(references.map(({ secretName }) => secretName))) {
    const { found, why } = await checkSecret({ name, use: 'content' }, resource, options);
    const keys = references.filter(({ secretName }) => secretName === name).map(({ secretKey }) => secretKey);
    if (found !== undefined && why === null)
      readings.set(name, { kind: 'found', markers: markersOf(found, keys, markerOf) });
    else if (why === null || CREATABLE.includes(why)) readings.set(name, { kind: 'absent' });
    else readings.set(name, { kind: 'refused', why });
  }
  return readings;
}

function markersOf(
  { metadata: { namespace = '', name }, ...rest }: UntypedObject,
  keys: readonly string[],
  markerOf: MarkerOf,
): ReadonlyMap<string, string> {
  const { data = {} } = rest as { data?: Readonly<Record<string, string>> };
  return new Map(
    keys.flatMap((key) => {
      const value = Object.hasOwn(data, key) ? data[key] : undefined;
      return value === undefined ? [] : [[key, markerOf({ namespace, name, key }, value)] as const];
    }),
  );
}
