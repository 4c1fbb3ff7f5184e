/** Specs, images and secrets that the steps of a walk use, and the objects that they refer to. All run on simulated nodes. */

import fc from 'fast-check';
import { isKubeError } from '../../../src/cluster/kube/client/errors.ts';
import type { Secret } from '../../../src/domain/deployment/deployment.ts';
import { RESOURCE_SPEC_FIELDS, type ResourceSpec } from '../../../src/domain/resource-spec/resource-spec.ts';
import { fullResourceSpec, validResourceSpec } from '../../arbitraries/resource-spec.ts';
import type { Random } from './random.ts';
import { EXTERNAL_SECRETS } from './settings-moves.ts';
import type { WalkWorld } from './world.ts';

/** Objects in the namespace of a walk that do not belong to Berth. */
export const SERVICE_ACCOUNTS = ['walk-a', 'walk-b', 'payments'] as const;
export const CLAIMS = ['walk-a', 'walk-b', 'payments-uploads'] as const;

const arbitrary = validResourceSpec();

/** Maximum sizes that the simulated nodes and this machine can hold. */
const MAX_PODS = 3;
const CPU = 16;
const MEMORY = 65_536;

const LARGE_QUANTITY = /^(memory|ephemeral-storage)$/;

function runnableMember(key: string, value: unknown, random: Random): unknown {
  if (key === 'claimName') return random.pick(CLAIMS);
  // Simulated nodes have no GPUs.
  if (key === 'example.com/gpu') return '0';
  if (LARGE_QUANTITY.test(key) && typeof value === 'string' && /[GEe]/.test(value)) return '1Gi';
  return value;
}

function runnableSize(field: string, value: unknown): unknown {
  if (typeof value !== 'number') return value;
  if (field.endsWith('_scale')) return Math.min(value, MAX_PODS);
  if (/cpu/.test(field)) return Math.min(value, CPU);
  if (field.endsWith('_mb')) return Math.min(value, MEMORY);
  if (field === 'db_storage_gi') return Math.min(value, 20);
  return value;
}

/** The spec, limited to sizes and references that exist. */
function runnable(spec: ResourceSpec, random: Random): ResourceSpec {
  const text = JSON.stringify(spec, (key, value) => runnableMember(key, value, random));
  const entries = Object.entries(JSON.parse(text) as ResourceSpec).map(([field, value]) => [
    field,
    field === 'service_account_name' && typeof value === 'string'
      ? random.pick(SERVICE_ACCOUNTS)
      : runnableSize(field, value),
  ]);
  return Object.fromEntries(entries) as ResourceSpec;
}

/** A valid spec with many fields, determined by `random`. */
export function donorSpec(random: Random): ResourceSpec {
  if (random.chance(0.3)) {
    const full = structuredClone(fullResourceSpec);
    // In this spec, init containers and sidecars have different fields, so both orders are used.
    const swapped = { ...full, init_containers: full.sidecars, sidecars: full.init_containers };
    return runnable(random.chance(0.5) ? full : swapped, random);
  }
  const [sample] = fc.sample(arbitrary, { seed: random.below(2 ** 31), numRuns: 1 });
  return runnable(sample ?? {}, random);
}

/** Fields whose values are numbers: sizes and scales. */
export const NUMBER_FIELDS = RESOURCE_SPEC_FIELDS.filter((field) =>
  /(_scale|cpu|_mb|_limit|_gi|connections)$/.test(field),
);

/** Fields whose values are lists, maps or names. */
export const POD_FIELDS = RESOURCE_SPEC_FIELDS.filter((field) => !NUMBER_FIELDS.includes(field));

/** Images and secrets of the revisions of a walk. */

export const IMAGES = [
  'registry.test/app:1',
  'registry.test/app:2',
  'registry.test/app:1.0.3',
  'registry.test/other',
];
export const PINNED = `registry.test/app@sha256:${'ab'.repeat(32)}`;
export const FAILING_IMAGES = ['registry.test/app:fail-crash-loop', 'registry.test/app:fail-invalid-image'];

export const SECRETS: readonly Secret[] = [
  { name: 'GREETING', value: 'hello' },
  { name: 'GREETING', value: '' },
  { name: 'TOKEN', value: 'a $(PORT) b $$ c' },
  { name: 'OTEL_SERVICE_NAME', value: 'mine' },
  { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://otel.example:4318' },
  { name: 'DATABASE_URI_CUSTOM', value: 'postgres://u:p@db.example:5432/app' },
  { name: 'CACHE_URI_CUSTOM', value: 'redis://cache.example:6379' },
  { name: 'lower.dotted-name', value: 'línea\nzwei' },
];

/** Creates the objects to which specs of a walk refer. Without them no pod would start. */
export async function makePrerequisites({ admin, namespace }: WalkWorld): Promise<void> {
  const accounts = SERVICE_ACCOUNTS.map((name) => ({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name, namespace },
  }));
  const claims = CLAIMS.map((name) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace },
    spec: { accessModes: ['ReadWriteMany'], resources: { requests: { storage: '1Gi' } } },
  }));
  // The operator rejects a name that a Secret of Berth could have, unless another Secret has the name.
  const tls = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'payments-tls', namespace } };
  const external = Object.entries(EXTERNAL_SECRETS).map(([name, stringData]) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace },
    stringData,
  }));
  for (const object of [...accounts, ...claims, tls, ...external]) {
    try {
      await admin.create(object);
    } catch (error) {
      if (!isKubeError(error, 'already_exists')) throw error;
    }
  }
}
