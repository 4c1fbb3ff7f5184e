/** Single changes of a resource_spec. They may be invalid. Generator and API check them. */
import {
  COMPONENT_FIELDS,
  type Component,
  componentFields,
} from '../../../src/domain/resource-spec/components.ts';
import type { ResourceSpec, ResourceSpecField } from '../../../src/domain/resource-spec/resource-spec.ts';
import { donorSpec, NUMBER_FIELDS, POD_FIELDS, SERVICE_ACCOUNTS } from './donors.ts';
import { graft } from './graft.ts';
import type { Random } from './random.ts';

/** A change of a resource_spec. */
export interface Move {
  readonly move: string;
  readonly what: string;
  /** The resource_spec of a PATCH: absent fields stay, null clears. */
  readonly change: Readonly<Record<string, unknown>>;
}

/** A move without its kind. */
type Change = Omit<Move, 'move'>;

const SCALED = ['api', 'queue', 'orchestrator'] as const satisfies readonly Component[];
const OPTIONAL = ['queue', 'orchestrator', 'executor'] as const satisfies readonly Component[];

/** Minimum and maximum: switched off, fixed, autoscaled, only one of both, defaults, and the maximum scale. */
const SCALES: readonly (readonly [number | null, number | null])[] = [
  [null, 0],
  [1, 0],
  [0, 0],
  [1, 1],
  [2, 2],
  [1, 2],
  [2, 3],
  [0, 1],
  [null, 1],
  [null, 2],
  [1, null],
  [2, null],
  [0, null],
  [null, null],
  [1, 1000],
];

function scaleMove(_: ResourceSpec, random: Random): Change {
  const component = random.pick(SCALED);
  const { min, max } = COMPONENT_FIELDS[component].scale;
  const [fewest, most] = random.pick(SCALES);
  return {
    what: `scale ${component} ${fewest ?? '-'}..${most ?? '-'}`,
    change: { [min]: fewest, [max]: most },
  };
}

function fractional(field: string): boolean {
  return /^(queue_|cache_)?cpu/.test(field);
}

function boundaries(field: ResourceSpecField, spec: ResourceSpec): readonly (number | null)[] {
  const set = spec[field];
  const partner = field.endsWith('_limit_mb')
    ? field.replace('_limit_mb', '_mb')
    : field.endsWith('_limit')
      ? field.replace('_limit', '')
      : `${field}_limit`;
  const other = (spec as Readonly<Record<string, unknown>>)[partner];
  const same = typeof other === 'number' ? [other] : [];
  if (field.endsWith('_scale')) return [null, 0, 1, 2, 3];
  if (field === 'db_storage_gi') return [null, typeof set === 'number' ? set + 1 : 21, 10, 5, 1];
  if (field === 'db_max_connections') return [null, 100, 200, 1000, 100_000, 1];
  if (field.endsWith('_mb')) return [null, 1, 64, 512, 1024, 2048, 65_536, ...same];
  return fractional(field)
    ? [null, 0.001, 0.25, 0.5, 1, 1.001, 2, 256, ...same]
    : [null, 1, 2, 4, 16, ...same];
}

function numberOf(field: ResourceSpecField, spec: ResourceSpec, random: Random): Change {
  const value = random.pick(boundaries(field, spec));
  return { what: `${field} = ${value}`, change: { [field]: value } };
}

function numberMove(spec: ResourceSpec, random: Random): Change {
  const set = NUMBER_FIELDS.filter((field) => spec[field] != null);
  const field = set.length > 0 && random.chance(0.5) ? random.pick(set) : random.pick(NUMBER_FIELDS);
  return numberOf(field, spec, random);
}

function componentMove(spec: ResourceSpec, random: Random): Change {
  const component = random.pick(OPTIONAL);
  const fields = componentFields(component);
  const there = fields.some((field) => spec[field] != null);
  if (there) {
    return {
      what: `remove the component ${component}`,
      change: Object.fromEntries(fields.map((field) => [field, null])),
    };
  }
  const field = random.pick(fields);
  return { what: `add the component ${component} by ${field}`, change: { [field]: 1 } };
}

function podMove(spec: ResourceSpec, random: Random): Change {
  return podPart(random.pick(POD_FIELDS), spec, random);
}

function podPart(field: ResourceSpecField, spec: ResourceSpec, random: Random): Change {
  const donor = donorSpec(random)[field];
  const current = spec[field];
  if (field === 'service_account_name') {
    const value = random.pick([null, ...SERVICE_ACCOUNTS]);
    return { what: `${field} = ${value}`, change: { [field]: value } };
  }
  if (current == null || donor == null) {
    const empty = field === 'labels' || field === 'annotations' ? {} : [];
    const value = current == null ? (donor ?? empty) : random.pick([null, empty]);
    return { what: `${field} ${current == null ? 'set' : 'cleared'}`, change: { [field]: value } };
  }
  return { what: `inside ${field}`, change: { [field]: graft(current, donor, random) } };
}

/** Replaces all pod fields together, because volumes, mounts and containers refer to each other. */
function podAsWhole(_: ResourceSpec, random: Random): Change {
  const donor = donorSpec(random);
  const change = Object.fromEntries(POD_FIELDS.map((field) => [field, donor[field] ?? null]));
  return { what: 'another pod as a whole', change };
}

function wholeSpec(spec: ResourceSpec, random: Random): Change {
  const donor = donorSpec(random);
  const fields = new Set([...Object.keys(spec), ...Object.keys(donor)]);
  fields.delete('db_storage_gi');
  const change = Object.fromEntries(
    [...fields].map((field) => [field, donor[field as ResourceSpecField] ?? null]),
  );
  return { what: 'another spec as a whole', change };
}

function clearing(spec: ResourceSpec, random: Random): Change {
  const set = Object.keys(spec);
  if (set.length === 0) return { what: 'nothing', change: {} };
  const field = random.pick(set);
  return { what: `clear ${field}`, change: { [field]: null } };
}

function sameAgain(spec: ResourceSpec): Change {
  return { what: 'the same again', change: { ...spec } };
}

/** Adds a sidecar with an image that cannot be pulled, so pods cannot start. */
function failingSidecar(spec: ResourceSpec): Change {
  const rest = (spec.sidecars ?? []).filter(({ name }) => name !== 'failing');
  const sidecars = [...rest, { name: 'failing', image: 'registry.test/sidecar:fail-invalid-image' }];
  return { what: 'a sidecar that fails', change: { sidecars } };
}

type MakeMove = (spec: ResourceSpec, random: Random) => Change;

const MOVES: readonly (readonly [weight: number, move: string, make: MakeMove])[] = [
  [5, 'scale', scaleMove],
  [5, 'number', numberMove],
  [3, 'component', componentMove],
  [10, 'pod field', podMove],
  [2, 'whole pod', podAsWhole],
  [1, 'whole spec', wholeSpec],
  [3, 'clear', clearing],
  [1, 'same again', sameAgain],
  [1, 'failing sidecar', failingSidecar],
];
const TOTAL = MOVES.reduce((sum, [weight]) => sum + weight, 0);

/** A random change of the spec. */
export function specMove(spec: ResourceSpec, random: Random): Move {
  let left = random.below(TOTAL);
  for (const [weight, move, make] of MOVES) {
    if (left < weight) return { move, ...make(spec, random) };
    left -= weight;
  }
  return { move: 'same again', ...sameAgain(spec) };
}

/** A change of this field. Mounts change together with the whole pod, because they need its volumes. */
export function fieldMove(field: ResourceSpecField, spec: ResourceSpec, random: Random): Move {
  const move = 'required field';
  if (NUMBER_FIELDS.includes(field)) return { move, ...numberOf(field, spec, random) };
  return { move, ...(field === 'volume_mounts' ? podAsWhole(spec, random) : podPart(field, spec, random)) };
}
