import { MANAGED_DEPLOYMENT } from '../../../contract/resource/definition.ts';
import { canonicalHost } from '../../../domain/net/url-host.ts';
import { matchesAnyCase, type Policy } from '../../../domain/policy/policy.ts';
import { domainRefusal } from '../../../domain/policy/policy-domains.ts';
import { wantedHost } from '../../../workloads/objects/app-url.ts';
import { controllerOf, keyOf, type UntypedObject } from '../../kube/client/object.ts';
import { ROUTE_KINDS } from '../kinds.ts';
import { identityKeys } from '../observe/cache-keys.ts';
import type { ClusterView } from '../observe/cluster-view.ts';
import type { Observed } from '../observed.ts';
import { hostsOf } from '../status/route-state.ts';
import { isProven, type ProofRules } from './host-proof.ts';
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

/** What decides about the hosts of all custom resources. */
export interface HostRules extends ProofRules {
  readonly platform: PlatformHosts;
  /** Domain below which the server assigns URLs. null: none, or not known. */
  readonly appDomain: string | null;
  readonly domains: Policy['domains'];
}

/** Why no route may use the host of the requested URL; null: a route may use it, or no URL is requested. */
export function hostRefusal({ resource }: Observed, view: Hosts, rules: HostRules): string | null {
  const host = wantedHost(resource.spec);
  return host === null ? null : claimRefusal(host, resource as unknown as UntypedObject, view, rules);
}

/**
 * Why no route of the resource may use one of its hosts; null: a route may use it. The message does not name the other
 * resource, which may belong to another tenant.
 */
export function claimRefusal(
  host: string,
  resource: UntypedObject,
  view: Hosts,
  rules: HostRules,
): string | null {
  const refusal = refusalByRules(host, resource, view, rules);
  if (refusal !== null) return refusal;
  return isTaken(host, resource, view, rules) ? `the host ${host} belongs to another deployment` : null;
}

/** Why the policy or the platform does not allow the host. */
function refusalByRules(
  host: string,
  resource: UntypedObject,
  view: Hosts,
  { platform, appDomain, domains }: HostRules,
): string | null {
  // The policy applies to new routes. An existing one stays when the policy becomes narrower.
  const isRouted = hasRoute(resource, host, view);
  if (!isHostOfUrl(host, resource)) {
    const names = { ownHost: platform.own, platformHosts: platform.others, appDomain };
    const policy = isRouted ? { ...domains, allowed_hosts: ['*'], refused_hosts: [] } : domains;
    const refusal = domainRefusal(host, names, policy);
    return refusal === null ? null : `${host} ${refusal}`;
  }
  if (isPlatformHost(host, { ...platform, others: isRouted ? [] : platform.others }))
    return `${host} is the platform's own host`;
  return !isRouted && isRefusedByPolicy(host, resource, platform)
    ? `the policy (custom_url.refused_hosts) does not allow the host ${host}`
    : null;
}

const isHostOfUrl = (host: string, resource: UntypedObject) => wantedHost(resource['spec']) === host;

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

/** Whether another resource has the host. */
function isTaken(host: string, resource: UntypedObject, view: Hosts, rules: HostRules): boolean {
  const own = rankOf(host, resource, view, rules);
  return view.resourcesOfHost(host).some((other) => {
    if (keyOf(other) === keyOf(resource) || isLeaving(other) || isCopy(other, resource)) return false;
    return mayHave(host, other, view, rules) && rankOf(host, other, view, rules) < own;
  });
}

/** Whether a resource may be routed under a host that no other resource requests. Other claims must not block a host. */
function mayHave(host: string, resource: UntypedObject, view: Hosts, rules: HostRules): boolean {
  if (refusalByRules(host, resource, view, rules) !== null) return false;
  return strengthOf(host, resource, rules) !== UNPROVEN || hasRoute(resource, host, view);
}

/**
 * The rank of a claim. The lowest one has the host: a claim with a route, then one that is proven, then one that needs no
 * proof, then the oldest. Only one of several copies of a deployment is reconciled; see identity.ts.
 */
function rankOf(host: string, resource: UntypedObject, view: Hosts, rules: HostRules): string {
  const route = hasRoute(resource, host, view) ? 0 : 1;
  const { creationTimestamp = '' } = resource.metadata;
  return `${route}${strengthOf(host, resource, rules)} ${creationTimestamp} ${keyOf(resource)}`;
}

const PROVEN = 0;
const NEEDS_NO_PROOF = 1;
const UNPROVEN = 2;

function strengthOf(host: string, resource: UntypedObject, rules: HostRules): number {
  if (isHostOfUrl(host, resource) || !rules.domains.require_proof) return NEEDS_NO_PROOF;
  return isProven(host, resource, rules) ? PROVEN : UNPROVEN;
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
