import { eachContainer } from '../kubernetes/pod-containers.ts';
import { NANO_PER_UNIT, parseQuantity } from '../kubernetes/quantity.ts';
import { COMPONENT_FIELDS, COMPONENTS, type Component } from '../resource-spec/components.ts';
import { effectiveSpec } from '../resource-spec/effective-spec.ts';
import type { ResourceSpec, ResourceSpecField } from '../resource-spec/resource-spec.ts';
import type { Caps } from './policy.ts';
import type { PodView, PolicyView, Violation } from './policy-view.ts';

/**
 * Checks the caps of the policy against the effective spec, including defaults. The cap limits a default that is
 * derived from a sent value (effective-spec.ts). If the sent value itself is above the cap, the issue names the field
 * of this value.
 */

const MEBI = 2n ** 20n;
const GIBI = 2n ** 30n;

type Cap = keyof Pick<Caps, 'scale' | 'cpu' | 'memory_mb' | 'storage_gi' | 'db_connections'>;

/** The cap of each field of an effective resource_spec. */
const CAPPED: readonly (readonly [ResourceSpecField, Cap])[] = [
  ...COMPONENTS.flatMap((component): [ResourceSpecField, Cap][] => {
    const { scale, cpu, cpuLimit, memory, memoryLimit } = COMPONENT_FIELDS[component];
    return [
      ...(scale === null ? [] : [[scale.max, 'scale'] as [ResourceSpecField, Cap]]),
      [cpu, 'cpu'],
      [cpuLimit, 'cpu'],
      [memory, 'memory_mb'],
      [memoryLimit, 'memory_mb'],
    ];
  }),
  ['cache_cpu', 'cpu'],
  ['cache_cpu_limit', 'cpu'],
  ['cache_memory_mb', 'memory_mb'],
  ['db_cpu', 'cpu'],
  ['db_cpu_limit', 'cpu'],
  ['db_memory_mb', 'memory_mb'],
  ['db_memory_limit_mb', 'memory_mb'],
  ['db_storage_gi', 'storage_gi'],
  ['db_max_connections', 'db_connections'],
];

const spec = (...path: (string | number)[]) => ['source_config', 'resource_spec', ...path];

type Follows = readonly (readonly [ResourceSpecField, readonly ResourceSpecField[]])[];

/**
 * The fields from which an unset field of a component is derived, nearest first. Fields of the queue are also derived
 * from fields of api.
 */
function componentFollows(component: Component): Follows {
  const { scale, cpu, cpuLimit, memory, memoryLimit } = COMPONENT_FIELDS[component];
  const main = COMPONENT_FIELDS.api;
  const scales: ResourceSpecField[] = [main.scale?.max, main.scale?.min].filter((field) => field != null);
  const inherits = component === 'queue';
  return [
    ...(scale === null ? [] : [[scale.max, [scale.min, ...(inherits ? scales : [])]] as const]),
    [cpu, inherits ? [main.cpu] : []],
    [cpuLimit, [cpu, ...(inherits ? [main.cpuLimit, main.cpu] : [])]],
    [memory, inherits ? [main.memory] : []],
    [memoryLimit, [memory, ...(inherits ? [main.memoryLimit, main.memory] : [])]],
  ];
}

const FOLLOWS: ReadonlyMap<ResourceSpecField, readonly ResourceSpecField[]> = new Map([
  ...COMPONENTS.flatMap(componentFollows),
  ['cache_cpu_limit', ['cache_cpu']],
  ['db_cpu_limit', ['db_cpu']],
  ['db_memory_limit_mb', ['db_memory_mb']],
]);

/** The largest sent scale, from which connections are derived. */
function largestSentScale(sent: ResourceSpec): ResourceSpecField | null {
  const scales = COMPONENTS.flatMap((component) => {
    const { scale } = COMPONENT_FIELDS[component];
    return scale === null ? [] : [scale.max, scale.min];
  }).filter((field) => sent[field] != null);
  const most = Math.max(...scales.map((field) => Number(sent[field])));
  return scales.find((field) => sent[field] === most) ?? null;
}

/** The sent field that makes a derived field too large. null: the default itself is too large. */
function causingField(sent: ResourceSpec, field: ResourceSpecField, cap: number): ResourceSpecField | null {
  if (field === 'db_max_connections') return largestSentScale(sent);
  return (FOLLOWS.get(field) ?? []).find((source) => Number(sent[source] ?? 0) > cap) ?? null;
}

/** The largest allowed size of the volume. A volume cannot shrink, so its current size is allowed even if the cap was lowered. */
function largestVolume({ stored, keptVolumeGi, caps }: PolicyView): number {
  if (stored === undefined) return caps.storage_gi;
  const { db_storage_gi: asked } = effectiveSpec(stored.resource_spec ?? {}, stored.deployment_type);
  return Math.max(caps.storage_gi, keptVolumeGi ?? asked);
}

function fieldCaps(view: PolicyView): Violation[] {
  const { effective, caps, spec: sent } = view;
  return CAPPED.flatMap(([field, cap]) => {
    const value = effective[field];
    const most = field === 'db_storage_gi' ? largestVolume(view) : caps[cap];
    if (typeof value !== 'number' || value <= most) return [];
    const allowed = `the policy allows at most ${caps[cap]}`;
    if (sent[field] != null) return [{ loc: spec(field), msg: `is ${value}, but ${allowed}` }];
    const source = causingField(sent, field, caps[cap]);
    if (source === null) return [{ loc: spec(field), msg: `is ${value} by default, but ${allowed}` }];
    return [{ loc: spec(source), msg: `is ${sent[source]}, which makes ${field} ${value}, but ${allowed}` }];
  });
}

/** A quantity in whole units, rounded up. */
function units(quantity: string, unit: bigint): number {
  const nano = parseQuantity(quantity) ?? 0n;
  const whole = unit * NANO_PER_UNIT;
  // The amount is rounded up, so that a value slightly above a cap is still above the cap.
  return Number((nano * 1000n + whole - 1n) / whole) / 1000;
}

/** Capped resources of a container, with their units and the suffix for messages. */
const CONTAINER_CAPS = [
  { resource: 'cpu', cap: 'cpu', unit: 1n, suffix: ' cores' },
  { resource: 'memory', cap: 'memory_mb', unit: MEBI, suffix: 'Mi' },
  { resource: 'ephemeral-storage', cap: 'ephemeral_storage_gi', unit: GIBI, suffix: 'Gi' },
] as const;

function containerCaps({ spec: sent, caps }: PodView): Violation[] {
  return eachContainer(sent).flatMap(({ container: { resources }, loc }) =>
    (['requests', 'limits'] as const).flatMap((part) =>
      CONTAINER_CAPS.flatMap(({ resource, cap, unit, suffix }) => {
        const amount = resources?.[part]?.[resource];
        if (amount === undefined || units(amount, unit) <= caps[cap]) return [];
        const msg = `must not be more than ${caps[cap]}${suffix}, the maximum of the policy`;
        return [{ loc: spec(...loc, 'resources', part, resource), msg }];
      }),
    ),
  );
}

/**
 * Caps of emptyDir volumes. For the medium Memory, the cap of memory applies, otherwise the cap of ephemeral storage.
 */
function volumeCaps({ spec: sent, caps }: PodView): Violation[] {
  return (sent.volumes ?? []).flatMap(({ emptyDir }, index) => {
    const { medium = '', sizeLimit } = emptyDir ?? {};
    if (sizeLimit === undefined) return [];
    const inMemory = medium !== '';
    const [cap, unit, suffix] = inMemory
      ? ([caps.memory_mb, MEBI, 'Mi'] as const)
      : ([caps.ephemeral_storage_gi, GIBI, 'Gi'] as const);
    if (units(sizeLimit, unit) <= cap) return [];
    return [
      {
        loc: spec('volumes', index, 'emptyDir', 'sizeLimit'),
        msg: `must not be more than ${cap}${suffix}, the maximum of the policy`,
      },
    ];
  });
}

function counts({ spec: sent, caps }: PodView): Violation[] {
  const containers = eachContainer(sent);
  const firstTooMany = containers[caps.containers];
  return [
    ...(firstTooMany !== undefined
      ? [
          {
            loc: spec(firstTooMany.loc[0]),
            msg: `init_containers and sidecars must not have more than ${caps.containers} entries together`,
          },
        ]
      : []),
    ...((sent.volumes?.length ?? 0) > caps.volumes
      ? [{ loc: spec('volumes'), msg: `must not have more than ${caps.volumes} entries` }]
      : []),
  ];
}

/** The violations of caps of containers and volumes. */
export function podCapIssues(view: PodView): Violation[] {
  return [...containerCaps(view), ...volumeCaps(view), ...counts(view)];
}

/** The violations of all caps. */
export function capIssues(view: PolicyView): Violation[] {
  return [...fieldCaps(view), ...podCapIssues(view)];
}
