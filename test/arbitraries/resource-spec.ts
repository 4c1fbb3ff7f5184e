import fc from 'fast-check';
import { isReservedMetadataKey } from '../../src/domain/deployment/reserved.ts';
import { DEPLOYMENT_TYPES } from '../../src/domain/deployment/source.ts';
import type { Container } from '../../src/domain/kubernetes/container.ts';
import type { Volume } from '../../src/domain/kubernetes/volume.ts';
import { fewestConnections, podsWithSurge } from '../../src/domain/resource-spec/connection-budget.ts';
import { largestScales } from '../../src/domain/resource-spec/effective-spec.ts';
import type { ResourceSpec, ResourceSpecField } from '../../src/domain/resource-spec/resource-spec.ts';
import { type ContainerDraft, containerDrafts } from './containers.ts';
import {
  annotationValue,
  type KubernetesOptions,
  labelValue,
  partial,
  qualifiedName,
  subdomain,
} from './kubernetes.ts';
import { mountDrafts, resolveMounts, volumes } from './volumes.ts';

export { fullResourceSpec } from './full-resource-spec.ts';

type Field = ResourceSpecField;

function scalePair(min: Field, max: Field): fc.Arbitrary<ResourceSpec> {
  const scale = fc.integer({ min: 0, max: 20 });
  return fc.oneof(
    fc.constant({}),
    scale.map((value) => ({ [min]: value })),
    scale.map((value) => ({ [max]: value })),
    // Both, in order; or switched off, whatever min says.
    fc.tuple(scale, scale).map(([a, b]) => ({ [min]: Math.min(a, b), [max]: Math.max(a, b) })),
    scale.map((value) => ({ [min]: value, [max]: 0 })),
  );
}

function sizePair(request: Field, limit: Field, size: fc.Arbitrary<number>): fc.Arbitrary<ResourceSpec> {
  return fc.oneof(
    fc.constant({}),
    size.map((value) => ({ [request]: value })),
    size.map((value) => ({ [limit]: value })),
    fc.tuple(size, size).map(([a, b]) => ({ [request]: Math.min(a, b), [limit]: Math.max(a, b) })),
    fc.constant({ [request]: null, [limit]: null }),
  );
}

const fractionalCores = fc.integer({ min: 1, max: 16_000 }).map((milli) => milli / 1000);
const wholeCores = fc.integer({ min: 1, max: 16 });
const mebibytes = fc.integer({ min: 1, max: 65_536 });

const sizes: fc.Arbitrary<ResourceSpec> = fc
  .tuple(
    scalePair('min_scale', 'max_scale'),
    scalePair('queue_min_scale', 'queue_max_scale'),
    scalePair('orchestrator_min_scale', 'orchestrator_max_scale'),
    sizePair('cpu', 'cpu_limit', fractionalCores),
    sizePair('queue_cpu', 'queue_cpu_limit', fractionalCores),
    sizePair('cache_cpu', 'cache_cpu_limit', fractionalCores),
    sizePair('orchestrator_cpu', 'orchestrator_cpu_limit', wholeCores),
    sizePair('executor_cpu', 'executor_cpu_limit', wholeCores),
    sizePair('db_cpu', 'db_cpu_limit', wholeCores),
    sizePair('memory_mb', 'memory_limit_mb', mebibytes),
    sizePair('queue_memory_mb', 'queue_memory_limit_mb', mebibytes),
    sizePair('orchestrator_memory_mb', 'orchestrator_memory_limit_mb', mebibytes),
    sizePair('executor_memory_mb', 'executor_memory_limit_mb', mebibytes),
    sizePair('db_memory_mb', 'db_memory_limit_mb', mebibytes),
    partial({
      cache_memory_mb: fc.option(mebibytes),
      db_storage_gi: fc.option(fc.integer({ min: 1, max: 65_536 })),
    }),
  )
  .map((parts) => Object.assign({}, ...parts) as ResourceSpec);

function freeKeys(map: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(map).filter(([key]) => !isReservedMetadataKey(key)));
}

function resolveContainers(
  drafts: ContainerDraft[],
  available: readonly Volume[],
  taken: Set<string>,
): Container[] {
  return drafts.flatMap(({ container, mounts }) => {
    if (taken.has(container.name)) return [];
    taken.add(container.name);
    return [mounts ? { ...container, volumeMounts: resolveMounts(mounts, available) } : container];
  });
}

function podSettings(options: KubernetesOptions): fc.Arbitrary<ResourceSpec> {
  const plain = partial({
    labels: fc.option(
      fc.dictionary(qualifiedName, labelValue, { maxKeys: 4, noNullPrototype: true }).map(freeKeys),
    ),
    annotations: fc.option(
      fc.dictionary(qualifiedName, annotationValue, { maxKeys: 4, noNullPrototype: true }).map(freeKeys),
    ),
    service_account_name: fc.option(subdomain),
    image_pull_secrets: fc.option(
      fc.uniqueArray(
        subdomain.map((name) => ({ name })),
        { maxLength: 3, selector: (secret) => secret.name },
      ),
    ),
  });
  const drafts = fc.record({
    volumes: volumes(options),
    mounts: mountDrafts,
    init: containerDrafts(options),
    sidecars: containerDrafts(options),
  });
  return fc.tuple(plain, fc.option(drafts)).map(([rest, draft]) => {
    if (draft === null) return rest;
    const taken = new Set<string>();
    return {
      ...rest,
      volumes: draft.volumes,
      volume_mounts: resolveMounts(draft.mounts, draft.volumes),
      init_containers: resolveContainers(draft.init, draft.volumes, taken),
      sidecars: resolveContainers(draft.sidecars, draft.volumes, taken),
    };
  });
}

/** The fewest connections that are enough whatever the deployment_type. */
function enoughConnections(spec: ResourceSpec): number {
  const pods = [...DEPLOYMENT_TYPES, null].map((type) =>
    podsWithSurge([...largestScales(spec, type).values()]),
  );
  return fewestConnections(Math.max(...pods));
}

/**
 * Valid resource_specs: right in shape, and true to every rule across fields for every deployment_type.
 * By default within Pod Security baseline and without projected ServiceAccount tokens, as Berth's self_hosted policy is.
 */
export function validResourceSpec(options: Partial<KubernetesOptions> = {}): fc.Arbitrary<ResourceSpec> {
  const settings = podSettings({ podSecurity: 'baseline', serviceAccountTokens: false, ...options });
  return fc.tuple(sizes, settings, fc.option(fc.nat({ max: 500 }))).map(([sizing, pod, spare]) => {
    const spec = { ...sizing, ...pod };
    return spare === null ? spec : { ...spec, db_max_connections: enoughConnections(spec) + spare };
  });
}
