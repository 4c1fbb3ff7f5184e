import { isPublicHost } from '../../../domain/net/https-url.ts';
import type { Policy } from '../../../domain/policy/policy.ts';
import { wantedHost } from '../../../workloads/objects/app-url.ts';
import type { UntypedObject } from '../../kube/client/object.ts';
import type { Observed } from '../observed.ts';
import { withoutKept } from './allowed-before.ts';
import { isPlatformHost, isRefusedByPolicy, type PlatformHosts } from './host-claims.ts';
import { refusedServices, serviceOf } from './service-spec-policy.ts';
import { forbiddenParts } from './spec-policy.ts';

/** Configuration of the operator's checks. */
export interface Rules {
  readonly policy: Policy;
  readonly platform: PlatformHosts;
  /** Builds may use repositories at private addresses. */
  readonly allowsPrivateHosts: boolean;
  /**
   * Namespaces, besides those of tenants, to which the chart's admission policy lets the listener write. null: the
   * chart has no such policy. absent: no namespaces.
   */
  readonly listenerNamespaces?: readonly string[] | null;
}

/** A field of a custom resource that this version rejects. */
export interface RefusedPart {
  readonly field: string;
  readonly why: string;
  /** When the running value is affected: when this field changes, with the next revision, or at once. */
  readonly until: 'field changes' | 'next revision' | 'upgrade';
}

/** All fields that would be rejected in a new resource, and how long the running values stay. Pure. */
export function refusedParts(observed: Observed, rules: Rules): RefusedPart[] {
  const forbidden = forbiddenParts(observed.resource, rules.policy);
  const barred = new Set(withoutKept(forbidden, observed.resource, observed.storedTemplates));
  const services = refusedServices({ ...observed, forbidden });
  const ofSpec = forbidden.map((part): RefusedPart => {
    const service = serviceOf(part);
    const stays = service === null ? !barred.has(part) : !services.has(service);
    const until = stays || service !== null ? 'field changes' : 'next revision';
    return { field: part.resourcePath, why: part.message, until };
  });
  return [...ofSpec, ...hostParts(observed, rules)];
}

function hostParts({ resource }: Observed, { policy, platform, allowsPrivateHosts }: Rules): RefusedPart[] {
  const host = wantedHost(resource.spec);
  const { build } = resource.spec;
  const { refused_hosts: refused } = policy.custom_url;
  const found: RefusedPart[] = [];
  if (host !== null && isPlatformHost(host, platform)) {
    // Earlier versions also rejected a route to the hub's own host.
    const until = isPlatformHost(host, { ...platform, others: [] }) ? 'upgrade' : 'field changes';
    found.push({ field: 'spec.routing.url', why: `${host} is the platform's own host`, until });
  } else if (
    host !== null &&
    isRefusedByPolicy(host, resource as unknown as UntypedObject, { ...platform, refused })
  ) {
    const why = `the policy (custom_url.refused_hosts) does not allow the host ${host}`;
    found.push({ field: 'spec.routing.url', why, until: 'field changes' });
  }
  if (build?.repoUrl !== undefined && !allowsPrivateHosts && !isPublicHost(new URL(build.repoUrl).hostname)) {
    const why = 'has a private address, and this installation does not call private addresses';
    found.push({ field: 'spec.build.repoUrl', why, until: 'upgrade' });
  }
  return found;
}
