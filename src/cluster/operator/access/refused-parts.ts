import { isPublicHost } from '../../../domain/net/https-url.ts';
import type { Policy } from '../../../domain/policy/policy.ts';
import { wantedHost } from '../../../workloads/objects/app-url.ts';
import type { UntypedObject } from '../../kube/client/object.ts';
import type { Observed } from '../observed.ts';
import { isPlatformHost, isRefusedByPolicy, type PlatformHosts } from './host-claims.ts';
import { refusedServices, serviceOf } from './service-spec-policy.ts';
import { forbiddenParts, isKept } from './spec-policy.ts';

/** What the rules of the operator are asked with. */
export interface Rules {
  readonly policy: Policy;
  readonly platform: PlatformHosts;
  /** Repositories at private addresses may be called. */
  readonly allowsPrivateHosts: boolean;
  /**
   * Namespaces besides those of tenants that the policy of the chart lets the listener write to; null: the chart has no such
   * policy; absent: no others.
   */
  readonly listenerNamespaces?: readonly string[] | null;
}

/** A field of a custom resource that this version refuses. */
export interface RefusedPart {
  readonly field: string;
  readonly why: string;
  /** What becomes of it: it stays until this field changes, until the next revision, or it goes at once. */
  readonly until: 'field changes' | 'next revision' | 'upgrade';
}

/** Every field of a resource that would be refused if it was new, and until when what runs of it stays. Pure. */
export function refusedParts(observed: Observed, rules: Rules): RefusedPart[] {
  const forbidden = forbiddenParts(observed.resource, rules.policy);
  const keeps = isKept(observed.resource, observed.storedTemplates);
  const services = refusedServices({ ...observed, forbidden });
  const ofSpec = forbidden.map((part): RefusedPart => {
    const service = serviceOf(part);
    const stays = service === null ? part.ofPodTemplate && keeps : !services.has(service);
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
    // A route to the hub's own host was refused by earlier versions, too.
    const until = isPlatformHost(host, { ...platform, others: [] }) ? 'upgrade' : 'field changes';
    found.push({ field: 'spec.routing.url', why: `${host} is the platform's own host`, until });
  } else if (
    host !== null &&
    isRefusedByPolicy(host, resource as unknown as UntypedObject, { ...platform, refused })
  ) {
    const why = `the policy (custom_url.refused_hosts) refuses the host ${host}`;
    found.push({ field: 'spec.routing.url', why, until: 'field changes' });
  }
  if (build !== undefined && !allowsPrivateHosts && !isPublicHost(new URL(build.repoUrl).hostname)) {
    const why = 'is at a private address, which this installation does not call';
    found.push({ field: 'spec.build.repoUrl', why, until: 'upgrade' });
  }
  return found;
}
