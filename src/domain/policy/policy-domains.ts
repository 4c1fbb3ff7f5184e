import { canonicalHost, hostOf } from '../net/url-host.ts';
import { matchesAnyCase, type Policy } from './policy.ts';
import type { PolicyView, Violation } from './policy-view.ts';

/** Which additional hosts a deployment may have. API and operator apply the same rules. */

/** Names that belong to the platform. */
export interface PlatformNames {
  /** Host of the API. null: not known. */
  readonly ownHost: string | null;
  /** Hosts of the other parts of the platform. */
  readonly platformHosts: readonly string[];
  /** Domain below which the server assigns URLs. null: none, or not known. */
  readonly appDomain: string | null;
}

/** The policy of domains, which also refuses the hosts that custom_url may not have, such as a console. */
export function domainPolicy({
  domains,
  custom_url,
}: Pick<Policy, 'domains' | 'custom_url'>): Policy['domains'] {
  return { ...domains, refused_hosts: [...domains.refused_hosts, ...custom_url.refused_hosts] };
}

/** Why a deployment may not have the host, as the end of a sentence that begins with the host. null: it may. */
export function domainRefusal(
  host: string,
  { ownHost, platformHosts, appDomain }: PlatformNames,
  { allowed_hosts, refused_hosts }: Policy['domains'],
): string | null {
  if (host === ownHost || platformHosts.includes(host)) return "must not be the platform's own host";
  // The server assigns these names, so no TXT record of a tenant proves that one belongs to it.
  const base = appDomain === null ? null : canonicalHost(appDomain);
  if (base !== null && (host === base || host.endsWith(`.${base}`)))
    return `must not be in the platform's domain ${base}`;
  if (matchesAnyCase(host, allowed_hosts) && !matchesAnyCase(host, refused_hosts)) return null;
  return allowed_hosts.length === 0
    ? 'must not be set, because the policy allows no additional hosts'
    : 'is a host that the policy does not allow';
}

/** Violations of the hosts that are new. Stored hosts stay when the policy becomes narrower. */
export function domainIssues(view: PolicyView, policy: Policy): Violation[] {
  const { sourceConfig, stored, ownHost, platformHosts = [], appDomain = null } = view;
  const { domains = [], custom_url: url } = sourceConfig;
  const urlHost = hostOf(url);
  const rules = domainPolicy(policy);
  const before = new Set(stored?.domains);
  return domains.flatMap((host, index) => {
    const loc = ['source_config', 'domains', index];
    if (host === urlHost) return [{ loc, msg: 'must not be the host of custom_url' }];
    const msg = before.has(host) ? null : domainRefusal(host, { ownHost, platformHosts, appDomain }, rules);
    return msg === null ? [] : [{ loc, msg }];
  });
}
