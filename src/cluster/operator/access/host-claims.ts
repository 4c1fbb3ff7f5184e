import { MANAGED_DEPLOYMENT } from '../../../contract/resource/definition.ts';
import { canonicalHost } from '../../../domain/net/url-host.ts';
import { matchesAnyCase } from '../../../domain/policy/policy.ts';
import { wantedHost } from '../../../workloads/objects/app-url.ts';
import { controllerOf, keyOf, type UntypedObject } from '../../kube/client/object.ts';
import { ROUTE_KINDS } from '../kinds.ts';
import { identityKeys } from '../observe/cache-keys.ts';
import type { ClusterView } from '../observe/cluster-view.ts';
import type { Observed } from '../observed.ts';
import { hostsOf } from '../status/route-state.ts';
import { hasGivenName } from './identity.ts';

/**
 * Decides which deployment may use a host. The hub keeps the hosts of its deployments unique. Other writers of custom
 * resources must not get one of these hosts, or the hub's own host, through the operator.
 */

export type Hosts = Pick<ClusterView, 'resourcesOfHost' | 'children'>;

export interface PlatformHosts {
  /** The hub's own host, which no route may use. null: unknown. */
  readonly own: string | null;
  /** Hosts of other parts of the platform, such as registry and tracing. */
  readonly others: readonly string[];
  /** Host patterns that the policy rejects (`custom_url.refused_hosts`); absent: no patterns. */
  readonly refused?: readonly string[];
}

/** Whether a host belongs to the platform. */
export function isPlatformHost(host: string, { own, others }: PlatformHosts): boolean {
  const canonical = canonicalHost(host);
  return canonical === own || others.includes(canonical);
}

/**
 * Why no route may use the requested host; null: a route may use it. The host belongs to the resource that already has
 * a route with it, otherwise to the oldest resource. The message does not name the other resource, which may belong to
 * another tenant.
 */
export function hostRefusal({ resource }: Observed, view: Hosts, platform: PlatformHosts): string | null {
  const host = wantedHost(resource.spec);
  if (host === null) return null;
  const asked = resource as unknown as UntypedObject;
  // A route that an earlier version created is kept. Only new routes are rejected.
  const isRouted = hasRoute(asked, host, view);
  if (isPlatformHost(host, { ...platform, others: isRouted ? [] : platform.others }))
    return `${host} is the platform's own host`;
  if (!isRouted && isRefusedByPolicy(host, asked, platform))
    return `the policy (custom_url.refused_hosts) does not allow the host ${host}`;
  return isTaken(host, asked, view, () => true) ? `the host ${host} belongs to another deployment` : null;
}

/**
 * Whether the policy rejects the host. The policy applies only to custom hosts, not to the generated host. The
 * generated host is the name of the resource, which ends in digits of the id, below BERTH_APP_DOMAIN.
 */
export function isRefusedByPolicy(
  host: string,
  resource: UntypedObject,
  { refused = [], others }: PlatformHosts,
): boolean {
  const canonical = canonicalHost(host);
  const { name } = resource.metadata;
  const isGiven = hasGivenName(resource) && others.some((domain) => canonical === `${name}.${domain}`);
  return !isGiven && matchesAnyCase(canonical, refused);
}

/**
 * Whether another resource has the host. A resource that has proven that the host belongs to it comes before one that has not.
 * @param isProven whether a resource has proven it, or needs no proof
 */
export function isTaken(
  host: string,
  resource: UntypedObject,
  view: Hosts,
  isProven: (resource: UntypedObject) => boolean,
): boolean {
  const [holder] = claimants(host, resource, view, isProven);
  return holder !== undefined && keyOf(holder) !== keyOf(resource);
}

/**
 * All resources that request the host, the holder first. Of copies of one deployment, only one is reconciled; see
 * identity.ts.
 */
function claimants(
  host: string,
  resource: UntypedObject,
  view: Hosts,
  isProven: (resource: UntypedObject) => boolean,
): UntypedObject[] {
  const others = view.resourcesOfHost(host).filter((other) => {
    return keyOf(other) !== keyOf(resource) && !isLeaving(other) && !isCopy(other, resource);
  });
  if (others.length === 0) return [];
  const rank = (each: UntypedObject) =>
    `${hasRoute(each, host, view) ? 0 : isProven(each) ? 1 : 2} ${each.metadata.creationTimestamp ?? ''} ${keyOf(each)}`;
  return [resource, ...others]
    .map((each) => ({ each, rank: rank(each) }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ each }) => each);
}

const isLeaving = ({ metadata }: UntypedObject) => metadata.deletionTimestamp !== undefined;

function isCopy(one: UntypedObject, other: UntypedObject): boolean {
  const [key] = identityKeys(one);
  return key !== undefined && key === identityKeys(other)[0];
}

/** Whether a route that the resource owns has the host. A label does not count, because any user can set a label. */
export function hasRoute(resource: UntypedObject, host: string, view: Hosts): boolean {
  return ROUTE_KINDS.flatMap((kind) => view.children(kind, keyOf(resource))).some((route) => {
    const owner = controllerOf(route);
    const isOwn = owner?.kind === MANAGED_DEPLOYMENT.kind && owner.uid === resource.metadata.uid;
    return isOwn && hostsOf(route).includes(host);
  });
}
