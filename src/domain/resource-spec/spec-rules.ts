import { APP_CONTAINER_NAME } from '../deployment/reserved.ts';
import type { DeploymentType } from '../deployment/source.ts';
import { eachContainer } from '../kubernetes/pod-containers.ts';
import { byteLength } from '../kubernetes/text.ts';
import { COMPONENT_FIELDS, COMPONENTS } from './components.ts';
import { connectionShortage } from './connection-budget.ts';
import { largestScales } from './effective-spec.ts';
import { milliCpu, type ResourceSpec, type ResourceSpecField } from './resource-spec.ts';

/**
 * Rules across the fields of a valid resource_spec, as an ordered list of named checks. The rules apply to the values
 * to store (after the merge of a PATCH). A violation is a 400.
 */

export interface SpecRuleInput {
  spec: ResourceSpec;
  deploymentType: DeploymentType | null;
  /** Whether the secrets contain DATABASE_URI_CUSTOM. Berth then runs no database, and no connection budget applies. */
  customDatabase: boolean;
}

export interface SpecIssue {
  /** Path below resource_spec. */
  loc: (string | number)[];
  msg: string;
  /** Name of the broken rule. */
  type: string;
}

type Violation = Omit<SpecIssue, 'type'>;

interface SpecRule {
  name: string;
  check: (input: SpecRuleInput) => Violation[];
}

/**
 * Maximum size of resource_spec as JSON. The custom resource contains resource_spec once, and a ControllerRevision
 * contains it once for each component. etcd accepts 1.5 MiB per object.
 */
export const MAX_SPEC_BYTES = 256 * 1024;

function minAboveMax({ spec }: SpecRuleInput): Violation[] {
  return COMPONENTS.flatMap((component) => {
    const fields = COMPONENT_FIELDS[component].scale;
    if (!fields) return [];
    const min = spec[fields.min];
    const max = spec[fields.max];
    // A max of 0 switches the component off, whatever min is.
    if (min == null || max == null || max === 0 || min <= max) return [];
    return [{ loc: [fields.min], msg: `${fields.min} ${min} must not be more than ${fields.max} ${max}` }];
  });
}

type NumberField = {
  [F in ResourceSpecField]: NonNullable<ResourceSpec[F]> extends number ? F : never;
}[ResourceSpecField];

const CPU_PAIRS: readonly (readonly [NumberField, NumberField])[] = [
  ...COMPONENTS.map(
    (component) => [COMPONENT_FIELDS[component].cpu, COMPONENT_FIELDS[component].cpuLimit] as const,
  ),
  ['cache_cpu', 'cache_cpu_limit'],
  ['db_cpu', 'db_cpu_limit'],
];
const MEMORY_PAIRS: readonly (readonly [NumberField, NumberField])[] = [
  ...COMPONENTS.map(
    (component) => [COMPONENT_FIELDS[component].memory, COMPONENT_FIELDS[component].memoryLimit] as const,
  ),
  ['db_memory_mb', 'db_memory_limit_mb'],
];

function aboveLimit(
  spec: ResourceSpec,
  pairs: readonly (readonly [NumberField, NumberField])[],
  unit: (value: number) => number,
): Violation[] {
  return pairs.flatMap(([request, limit]) => {
    const requested = spec[request];
    const limited = spec[limit];
    if (requested == null || limited == null || unit(requested) <= unit(limited)) return [];
    return [{ loc: [request], msg: `${request} ${requested} must not be more than ${limit} ${limited}` }];
  });
}

function requestAboveLimit({ spec }: SpecRuleInput): Violation[] {
  return [
    ...aboveLimit(spec, CPU_PAIRS, milliCpu),
    ...aboveLimit(spec, MEMORY_PAIRS, (mebibytes) => mebibytes),
  ];
}

function connectionsTooFew({ spec, deploymentType, customDatabase }: SpecRuleInput): Violation[] {
  const sent = spec.db_max_connections;
  if (sent == null || customDatabase) return [];
  const shortage = connectionShortage(largestScales(spec, deploymentType), sent);
  return shortage === null ? [] : [{ loc: ['db_max_connections'], msg: shortage }];
}

/** Names must be unique across both lists, because the containers are in one pod. The schema checks each list. */
function containerNameTwice({ spec }: SpecRuleInput): Violation[] {
  const initNames = new Set((spec.init_containers ?? []).map((container) => container.name));
  return (spec.sidecars ?? []).flatMap(({ name }, index) =>
    initNames.has(name)
      ? [{ loc: ['sidecars', index, 'name'], msg: `'${name}' is the name of an init container too` }]
      : [],
  );
}

function unknownVolume({ spec }: SpecRuleInput): Violation[] {
  const volumes = new Set((spec.volumes ?? []).map((volume) => volume.name));
  const unknown = (mounts: readonly { name: string }[], loc: (string | number)[]): Violation[] =>
    mounts.flatMap((mount, index) =>
      volumes.has(mount.name)
        ? []
        : [
            {
              loc: [...loc, index, 'name'],
              msg: `must be the name of a volume, but no volume is named '${mount.name}'`,
            },
          ],
    );
  return [
    ...unknown(spec.volume_mounts ?? [], ['volume_mounts']),
    ...eachContainer(spec).flatMap(({ container, loc }) =>
      unknown(container.volumeMounts ?? [], [...loc, 'volumeMounts']),
    ),
  ];
}

interface ContainerReference {
  name: string;
  loc: (string | number)[];
}

type DownwardApiItems = NonNullable<
  NonNullable<NonNullable<ResourceSpec['volumes']>[number]['downwardAPI']>['items']
>;

function referencesOfItems(
  items: DownwardApiItems | undefined,
  loc: (string | number)[],
): ContainerReference[] {
  return (items ?? []).flatMap(({ resourceFieldRef }, index) =>
    resourceFieldRef
      ? [
          {
            name: resourceFieldRef.containerName,
            loc: [...loc, 'items', index, 'resourceFieldRef', 'containerName'],
          },
        ]
      : [],
  );
}

function referencesInVolumes(spec: ResourceSpec): ContainerReference[] {
  return (spec.volumes ?? []).flatMap(({ downwardAPI, projected }, index) => [
    ...referencesOfItems(downwardAPI?.items, ['volumes', index, 'downwardAPI']),
    ...(projected?.sources ?? []).flatMap((source, at) =>
      referencesOfItems(source.downwardAPI?.items, [
        'volumes',
        index,
        'projected',
        'sources',
        at,
        'downwardAPI',
      ]),
    ),
  ]);
}

function referencesInEnv(spec: ResourceSpec): ContainerReference[] {
  return eachContainer(spec).flatMap(({ container, loc }) =>
    (container.env ?? []).flatMap((variable, at) => {
      const name = variable.valueFrom?.resourceFieldRef?.containerName;
      const path = [...loc, 'env', at, 'valueFrom', 'resourceFieldRef', 'containerName'];
      return name === undefined ? [] : [{ name, loc: path }];
    }),
  );
}

/** Rejects unknown containers, because the API server does not check them and the kubelet could not start the pod. */
function unknownContainer({ spec }: SpecRuleInput): Violation[] {
  const names = new Set([APP_CONTAINER_NAME, ...eachContainer(spec).map(({ container }) => container.name)]);
  return [...referencesInVolumes(spec), ...referencesInEnv(spec)].flatMap(({ name, loc }) =>
    names.has(name)
      ? []
      : [{ loc, msg: `must be the name of a container, but no container is named '${name}'` }],
  );
}

function tooLarge({ spec }: SpecRuleInput): Violation[] {
  const size = byteLength(JSON.stringify(spec));
  return size <= MAX_SPEC_BYTES
    ? []
    : [{ loc: [], msg: `must not be larger than ${MAX_SPEC_BYTES} bytes as JSON, but has ${size} bytes` }];
}

/** The rules, in the order in which their violations are reported. */
export const SPEC_RULES: readonly SpecRule[] = [
  { name: 'min_above_max', check: minAboveMax },
  { name: 'request_above_limit', check: requestAboveLimit },
  { name: 'connections_too_few', check: connectionsTooFew },
  { name: 'container_name_twice', check: containerNameTwice },
  { name: 'unknown_volume', check: unknownVolume },
  { name: 'unknown_container', check: unknownContainer },
  { name: 'spec_too_large', check: tooLarge },
];

/** The violations of all rules by a spec as it would be stored. */
export function specRuleIssues(input: SpecRuleInput): SpecIssue[] {
  return SPEC_RULES.flatMap(({ name, check }) =>
    check(input).map((violation) => ({ ...violation, type: name })),
  );
}
