import type { BodyIssue } from '../core/body-issue.ts';
import type { SourceConfig } from '../deployment/deployment.ts';
import type { Container } from '../kubernetes/container.ts';
import { NANO_PER_UNIT, parseQuantity } from '../kubernetes/quantity.ts';
import { COMPONENT_FIELDS, COMPONENTS } from '../resource-spec/components.ts';
import { CONTAINER_DEFAULTS } from '../resource-spec/container-defaults.ts';
import { effectiveSpec, isOff, scaleOfComponent } from '../resource-spec/effective-spec.ts';
import type { EffectiveResourceSpec } from '../resource-spec/effective-spec-schema.ts';
import { milliCpu, type ResourceSpecField } from '../resource-spec/resource-spec.ts';
import { podAmount, podDevices } from './pod-request.ts';
import { maxInCluster, type TenantQuota, type TenantQuotas } from './tenant-quotas.ts';

/** Usage of tenant quotas by deployments, and checks of changes against them. */

/** Requests at full scale, without the surge of a rolling update. */
export interface QuotaUsage {
  readonly cpuM: number;
  readonly memoryMb: number;
  readonly storageGi: number;
  /** GPUs and other devices. Absent: none. */
  readonly gpus?: number;
  /** Additional hosts, also of a deployment that is switched off. Absent: none. */
  readonly domains?: number;
  /** Schedules, also of a deployment that is switched off. Absent: none. */
  readonly schedules?: number;
}

/** Usage of a tenant. A deployment that is being deleted counts only with its volume, until the volume is deleted. */
export interface TenantUsage extends QuotaUsage {
  /** Number of deployments that are not being deleted. */
  readonly deployments: number;
  readonly beingDeleted: number;
  /** The part of the storage that volumes of databases that are switched off use. Absent: none. */
  readonly keptGi?: number;
}

/** Data services that Berth does not run, which do not count: those of the tenant, and those that are switched off. */
export interface ExternalServices {
  readonly database: boolean;
  readonly cache: boolean;
  /**
   * Size in GiB of a volume from the time when Berth ran the database. The volume is kept with the deployment. Absent:
   * none.
   */
  readonly keptVolumeGi?: number;
}

type Resource = 'cpu' | 'memory';

/** Pods of one kind: their number at full scale, and the requests of each. */
interface Part {
  readonly name: string;
  readonly pods: number;
  /** Millicores. */
  readonly cpu: number;
  /** MiB. */
  readonly memory: number;
  /** Number of devices. */
  readonly gpus: number;
  /** The fields that determine the requests. */
  readonly fields: Readonly<Record<Resource, ResourceSpecField>>;
}

/** The usage of a deployment, by part. */
export interface Demand {
  readonly parts: readonly Part[];
  readonly storageGi: number;
  /** Number of additional hosts. Absent: none. */
  readonly domains?: number;
  /** Number of schedules. Absent: none. */
  readonly schedules?: number;
}

const UNITS: Readonly<Record<Resource, bigint>> = {
  cpu: NANO_PER_UNIT / 1000n,
  memory: NANO_PER_UNIT << 20n,
};

/**
 * The request of a container, in billionths. In Kubernetes, a limit without a request sets both. A container without both gets
 * the defaults of the namespaces of tenants.
 */
function requested({ resources }: Container, resource: Resource): bigint {
  const named = resources?.requests?.[resource] ?? resources?.limits?.[resource];
  return parseQuantity(named ?? CONTAINER_DEFAULTS.requests[resource]) ?? 0n;
}

/** The request of an app pod as the scheduler computes it, rounded up to a millicore or MiB. */
function podRequest(effective: EffectiveResourceSpec, own: number, resource: Resource): number {
  const unit = UNITS[resource];
  const nano = podAmount(effective, BigInt(own) * unit, (container) => requested(container, resource));
  return Number((nano + unit - 1n) / unit);
}

function componentParts(effective: EffectiveResourceSpec, gpu: SourceConfig['gpu']): Part[] {
  return COMPONENTS.map((component) => {
    const { cpu, memory } = COMPONENT_FIELDS[component];
    return {
      name: component,
      pods: scaleOfComponent(effective, component).max,
      cpu: podRequest(effective, milliCpu(effective[cpu] ?? 0), 'cpu'),
      memory: podRequest(effective, effective[memory] ?? 0, 'memory'),
      gpus: podDevices(effective, gpu?.[component]),
      fields: { cpu, memory },
    };
  }).filter(({ pods }) => pods > 0);
}

const CACHE_FIELDS = { cpu: 'cache_cpu', memory: 'cache_memory_mb' } as const;
const DATABASE_FIELDS = { cpu: 'db_cpu', memory: 'db_memory_mb' } as const;

function dataPart(
  effective: EffectiveResourceSpec,
  name: string,
  fields: typeof CACHE_FIELDS | typeof DATABASE_FIELDS,
): Part {
  const cpu = milliCpu(effective[fields.cpu]);
  return { name, pods: 1, cpu, memory: effective[fields.memory], gpus: 0, fields };
}

/** The usage of a deployment. While a deployment is switched off, only its database volume and its hosts count. */
export function demandOf(sourceConfig: SourceConfig, external: ExternalServices): Demand {
  const { resource_spec: spec, deployment_type: type, default_ceilings: ceilings, gpu } = sourceConfig;
  const effective = effectiveSpec(spec ?? {}, type, ceilings);
  const storageGi = external.database ? (external.keptVolumeGi ?? 0) : effective.db_storage_gi;
  const domains = sourceConfig.domains?.length ?? 0;
  const schedules = sourceConfig.schedules?.length ?? 0;
  if (isOff(effective)) return { parts: [], storageGi, domains, schedules };
  return {
    parts: [
      ...componentParts(effective, gpu),
      ...(external.database ? [] : [dataPart(effective, 'database', DATABASE_FIELDS)]),
      ...(external.cache ? [] : [dataPart(effective, 'cache', CACHE_FIELDS)]),
    ],
    storageGi,
    domains,
    schedules,
  };
}

const total = ({ parts }: Demand, resource: Resource | 'gpus') =>
  parts.reduce((all, part) => all + part.pods * part[resource], 0);

/** The total of a demand. */
export function usageOf(demand: Demand): QuotaUsage {
  const { domains = 0, schedules = 0 } = demand;
  const gpus = total(demand, 'gpus');
  return {
    cpuM: total(demand, 'cpu'),
    memoryMb: total(demand, 'memory'),
    storageGi: demand.storageGi,
    ...(gpus === 0 ? {} : { gpus }),
    ...(domains === 0 ? {} : { domains }),
    ...(schedules === 0 ? {} : { schedules }),
  };
}

/** An amount in the unit of the quota: cores, MiB, GiB. */
const shown = (amount: number, quota: TenantQuota) => (quota === 'cpu' ? amount / 1000 : amount);

/** The field of the largest part of a demand, and the total by part: "api 4 × 0.5, database 1". */
function terms(demand: Demand, resource: Resource, quota: TenantQuota) {
  const parts = demand.parts.toSorted((a, b) => b.pods * b[resource] - a.pods * a[resource]);
  const text = parts.map((part) => {
    const each = shown(part[resource], quota);
    return part.pods === 1 ? `${part.name} ${each}` : `${part.name} ${part.pods} × ${each}`;
  });
  return { field: parts[0]?.fields[resource] ?? null, text: ` (${text.join(', ')})` };
}

interface Row {
  readonly quota: TenantQuota;
  readonly unit: string;
  /** Derives the bound from the quota. Absent: the quota itself is the bound. */
  readonly bound?: (quota: number) => number;
  readonly amount: (usage: TenantUsage) => number;
  readonly blame: (demand: Demand) => { readonly loc: readonly string[]; readonly text: string };
}

const SPEC = ['source_config', 'resource_spec'] as const;

function blameLargest(resource: Resource, quota: TenantQuota): Row['blame'] {
  return (demand) => {
    const { field, text } = terms(demand, resource, quota);
    return { loc: field === null ? SPEC : [...SPEC, field], text };
  };
}

/** The component with the most devices, and the devices of each. */
function blameGpus({ parts }: Demand): ReturnType<Row['blame']> {
  const using = parts.filter(({ gpus }) => gpus > 0).toSorted((a, b) => b.pods * b.gpus - a.pods * a.gpus);
  const text = using.map(({ name, pods, gpus }) => `${name} ${pods} × ${gpus}`).join(', ');
  const [first] = using;
  return { loc: ['source_config', 'gpu', ...(first === undefined ? [] : [first.name])], text: ` (${text})` };
}

const identity = (quota: number) => quota;

const ROWS: readonly Row[] = [
  {
    quota: 'deployments',
    unit: 'deployments',
    amount: ({ deployments }) => deployments,
    blame: () => ({ loc: [], text: '' }),
  },
  {
    // The bound includes deployments in deletion, so that deployments that are created and deleted repeatedly do not
    // accumulate in the cluster.
    quota: 'deployments',
    unit: 'deployments, including deployments that are being deleted',
    bound: maxInCluster,
    amount: ({ deployments, beingDeleted }) => deployments + beingDeleted,
    blame: () => ({ loc: [], text: '' }),
  },
  { quota: 'cpu', unit: 'cores', amount: ({ cpuM }) => cpuM, blame: blameLargest('cpu', 'cpu') },
  {
    quota: 'memory_mb',
    unit: 'MiB of memory',
    amount: ({ memoryMb }) => memoryMb,
    blame: blameLargest('memory', 'memory_mb'),
  },
  {
    quota: 'storage_gi',
    unit: 'GiB of storage',
    amount: ({ storageGi }) => storageGi,
    blame: () => ({ loc: [...SPEC, 'db_storage_gi'], text: '' }),
  },
  {
    quota: 'gpus',
    unit: 'GPUs and other devices',
    amount: ({ gpus = 0 }) => gpus,
    blame: blameGpus,
  },
  {
    quota: 'domains',
    unit: 'additional hosts',
    amount: ({ domains = 0 }) => domains,
    blame: () => ({ loc: ['source_config', 'domains'], text: '' }),
  },
  {
    quota: 'schedules',
    unit: 'schedules',
    amount: ({ schedules = 0 }) => schedules,
    blame: () => ({ loc: ['source_config', 'schedules'], text: '' }),
  },
];

export interface QuotaQuestion {
  readonly quotas: TenantQuotas;
  /** Usage of the other deployments of the tenant. */
  readonly others: TenantUsage;
  /** Current usage of this deployment. 0 for a new deployment. */
  readonly before: TenantUsage;
  readonly demand: Demand;
}

/** Why a change exceeds the quotas, with the calculation. Lowered or unchanged usage is always allowed. */
export function quotaIssues({ quotas, others, before, demand }: QuotaQuestion): BodyIssue[] {
  const after: TenantUsage = { deployments: 1, beingDeleted: 0, ...usageOf(demand) };
  return ROWS.flatMap(({ quota, unit, bound = identity, amount, blame }) => {
    const own = quotas[quota] ?? null;
    const most = own === null ? null : bound(own);
    const allowed = most === null ? null : quota === 'cpu' ? Math.round(most * 1000) : most;
    const together = amount(others) + amount(after);
    if (allowed === null || together <= allowed || amount(after) <= amount(before)) return [];
    const { loc, text } = blame(demand);
    const [all, rest, ours] = [together, amount(others), amount(after)].map((each) => shown(each, quota));
    return [
      {
        loc,
        msg:
          `the tenant would use ${all} of ${most} ${unit}: ${rest} by other deployments, ${ours} by this ` +
          `deployment${text}`,
        type: `quota_${quota}`,
      },
    ];
  });
}
