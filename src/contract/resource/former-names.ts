import type { ManagedDeploymentSpec, ManagedDeploymentStatus } from './managed-deployment.ts';

/**
 * Names of fields in the previous version of the custom resource. Resources that the previous version stored are read
 * with these names, and the listener protocol still uses the names of the spec. Remove this file with the next version
 * (decision 0082).
 */

/** A renamed field. */
export interface RenamedField {
  /** Path of the object with the field. `items` means the entries of a list. */
  readonly at: readonly string[];
  readonly former: string;
  readonly current: string;
  /** The previous version only reads this name, so it is never written. */
  readonly readOnly?: true;
}

/** Renamed fields of the spec. */
export const RENAMED_IN_SPEC: readonly RenamedField[] = [
  { at: [], former: 'generation', current: 'recordGeneration' },
  { at: ['deletion'], former: 'requestedAt', current: 'requestTime' },
  { at: ['deletion'], former: 'restorableUntil', current: 'restorableUntilTime' },
  { at: ['failed'], former: 'observedGeneration', current: 'observedRecordGeneration' },
];

/** Objects of the status that describe a failure. */
const FAILURES = [['failedRevision'], ['failedChange'], ['symptoms', 'items']];

/** Renamed fields of the status. A field comes before the fields inside it. */
export const RENAMED_IN_STATUS: readonly RenamedField[] = [
  { at: [], former: 'status', current: 'deploymentStatus' },
  { at: [], former: 'observedSpecGeneration', current: 'observedRecordGeneration' },
  { at: ['failedRevision'], former: 'generation', current: 'recordGeneration' },
  { at: ['failedChange'], former: 'generation', current: 'recordGeneration' },
  ...FAILURES.flatMap((at): RenamedField[] => [
    { at, former: 'culprit', current: 'failureSource', readOnly: true },
    { at: [...at, 'failureSource'], former: 'container_kind', current: 'containerKind' },
    { at: [...at, 'failureSource'], former: 'exit_code', current: 'exitCode' },
  ]),
  { at: ['symptoms', 'items'], former: 'since', current: 'firstObservedTime' },
  { at: ['symptoms', 'items'], former: 'quietSince', current: 'lastObservedTime' },
  { at: ['rollout'], former: 'startedAt', current: 'startTime' },
  { at: ['rollout'], former: 'templatesAt', current: 'templatesChangeTime' },
  { at: ['awaiting'], former: 'since', current: 'startTime' },
  { at: ['build'], former: 'startedAt', current: 'startTime' },
  { at: ['build'], former: 'finishedAt', current: 'completionTime' },
  { at: ['routes'], former: 'generation', current: 'recordGeneration' },
];

type Fields = Readonly<Record<string, unknown>>;

/** Changes the objects at a path. Objects that do not change are not copied. */
function changedAt(value: unknown, path: readonly string[], change: (holder: Fields) => Fields): unknown {
  if (value === null || typeof value !== 'object') return value;
  const [step, ...rest] = path;
  if (step === undefined) return Array.isArray(value) ? value : change(value as Fields);
  if (step === 'items') {
    if (!Array.isArray(value)) return value;
    const items = value.map((item) => changedAt(item, rest, change));
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  const before = (value as Fields)[step];
  const after = changedAt(before, rest, change);
  return after === before ? value : { ...value, [step]: after };
}

function toCurrent({ former, current }: RenamedField): (holder: Fields) => Fields {
  return (holder) => {
    if (!Object.hasOwn(holder, former)) return holder;
    const { [former]: value, ...rest } = holder;
    return { [current]: value, ...rest };
  };
}

function toBoth({ former, current }: RenamedField): (holder: Fields) => Fields {
  return (holder) => (Object.hasOwn(holder, current) ? { ...holder, [former]: holder[current] } : holder);
}

/** An object with both names was not written by Berth, and stays as it is, so that its hash shows the edit. */
function toFormer({ former, current }: RenamedField): (holder: Fields) => Fields {
  return (holder) => {
    if (!Object.hasOwn(holder, current) || Object.hasOwn(holder, former)) return holder;
    const { [current]: value, ...rest } = holder;
    return { ...rest, [former]: value };
  };
}

type Direction = (field: RenamedField) => (holder: Fields) => Fields;

function renamed(value: unknown, fields: readonly RenamedField[], direction: Direction): unknown {
  return fields.reduce((result, field) => changedAt(result, field.at, direction(field)), value);
}

const WRITTEN_IN_STATUS = RENAMED_IN_STATUS.filter(({ readOnly }) => readOnly !== true).toReversed();

/** The spec with the names of this version. */
export function currentSpec<Spec = ManagedDeploymentSpec>(spec: unknown): Spec {
  return renamed(spec, RENAMED_IN_SPEC, toCurrent) as Spec;
}

/** The spec with the names of the previous version. */
export function formerSpec<Spec>(spec: unknown): Spec {
  return renamed(spec, RENAMED_IN_SPEC, toFormer) as Spec;
}

/** The status with the names of this version. */
export function currentStatus(status: unknown): ManagedDeploymentStatus {
  return renamed(status, RENAMED_IN_STATUS, toCurrent) as ManagedDeploymentStatus;
}

/** The status with the names of both versions. */
export function statusWithBothNames(status: ManagedDeploymentStatus): ManagedDeploymentStatus {
  return renamed(status, WRITTEN_IN_STATUS, toBoth) as ManagedDeploymentStatus;
}

/** Whether the previous version stored this spec, or a listener of that version. */
export function isFormerSpec(spec: unknown): boolean {
  return (
    typeof spec === 'object' &&
    spec !== null &&
    Object.hasOwn(spec, 'generation') &&
    !Object.hasOwn(spec, 'recordGeneration')
  );
}

/** Which names a stored status has. */
export type StatusNames = 'current' | 'former' | 'both';

/** Which names a stored status has. A status without any renamed field is `current`. */
export function statusNames(status: unknown): StatusNames {
  if (typeof status !== 'object' || status === null) return 'current';
  if (currentStatus(status) === status) return 'current';
  const isOfThisVersion = (name: string) => Object.hasOwn(status, name);
  return isOfThisVersion('deploymentStatus') || isOfThisVersion('observedRecordGeneration')
    ? 'both'
    : 'former';
}
