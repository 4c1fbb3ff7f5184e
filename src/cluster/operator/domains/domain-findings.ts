import type { RenderConfig } from '../../../contract/render/render-config.ts';
import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import { MAX_DOMAIN_MESSAGE, type ObservedDomain } from '../../../domain/app-hosts/domain-status.ts';
import type { Reason } from '../../../domain/conditions/conditions.ts';
import { routeKind } from '../../../workloads/objects/routing.ts';
import type { Observed } from '../observed.ts';
import { type Finding, shortened } from '../status/conditions.ts';
import { routeOfHost } from '../status/route-state.ts';
import { isAdmitted, type ObservedHost } from './observed-host.ts';

/**
 * The state of each additional host, from what was observed. A host that lacks something does not affect the condition Ready:
 * its owner may create the DNS record at any time, and the app serves under its other addresses.
 */

type StatusDomains = NonNullable<ManagedDeploymentStatus['domains']>;
type StatusHost = StatusDomains['hosts'][number];

/** Why a host is not ready. */
interface Trouble {
  readonly reason: Reason;
  readonly message: string;
}

interface Judged {
  readonly state: StatusHost;
  readonly trouble: Trouble | null;
}

function proofOf(
  { challenge, proven, facts }: ObservedHost,
  former: StatusHost | undefined,
): ObservedDomain['proof'] {
  if (challenge === null) return 'NOT_REQUIRED';
  if (proven) return 'READY';
  if (facts === undefined) return former?.proof === 'PENDING' ? 'PENDING' : 'UNKNOWN';
  return facts.proven === null ? 'UNKNOWN' : 'PENDING';
}

/** Until the first lookup of this process has ended, the former observation counts. */
function dnsOf({ facts }: ObservedHost, former: StatusHost | undefined): ObservedDomain['dns'] {
  if (facts === undefined) return former?.dns ?? 'UNKNOWN';
  if (facts.hasAddress === null) return 'UNKNOWN';
  return facts.hasAddress ? 'READY' : 'PENDING';
}

function certificateOf(
  { facts }: ObservedHost,
  route: ObservedDomain['route'],
  former: StatusHost | undefined,
): ObservedDomain['certificate'] {
  if (route !== 'READY') return 'UNKNOWN';
  if (facts === undefined) return former?.certificate ?? 'UNKNOWN';
  if (facts.certificate === null) return 'UNKNOWN';
  return facts.certificate.ready ? 'READY' : 'PENDING';
}

const ROUTE_STATES: Readonly<Partial<Record<Reason, ObservedDomain['route']>>> = {
  RouteExists: 'READY',
  RoutePending: 'PENDING',
  RouteRefused: 'REFUSED',
};

function routeOf(host: ObservedHost, observed: Observed, config: RenderConfig) {
  if (host.refused !== null) return { state: 'REFUSED', message: host.refused } as const;
  if (!isAdmitted(host)) return { state: 'PENDING', message: '' } as const;
  const { reason, message } = routeOfHost(observed, host, config);
  return { state: ROUTE_STATES[reason] ?? 'PENDING', message } as const;
}

/** The first thing that a host lacks, in the order in which its owner provides them. */
function troubleOf(host: ObservedHost, state: ObservedDomain, routeMessage: string): Trouble | null {
  const { host: name, challenge, facts } = host;
  if (state.route === 'REFUSED') return { reason: 'DomainRefused', message: routeMessage };
  const effect = isAdmitted(host) ? `${name} keeps its route, but is not proven` : `${name} is not routed`;
  if (challenge !== null && state.proof === 'PENDING') {
    const message = `create the TXT record ${challenge.name} with the value ${challenge.value}`;
    return { reason: 'DomainUnproven', message: `${effect}: ${message}` };
  }
  if (challenge !== null && state.proof === 'UNKNOWN') {
    const message = `the TXT record ${challenge.name} must have the value ${challenge.value}, and the DNS server does not answer`;
    return { reason: 'DomainUnknown', message: `${effect}: ${message}` };
  }
  if (state.route !== 'READY') return { reason: 'DomainRoutePending', message: routeMessage };
  if (state.dns === 'PENDING')
    return { reason: 'DomainWithoutDns', message: `${name} has no address in DNS (A, AAAA or CNAME record)` };
  if (state.dns === 'UNKNOWN')
    return {
      reason: 'DomainUnknown',
      message: `${name} cannot be looked up: the DNS server does not answer`,
    };
  if (state.certificate === 'PENDING')
    return {
      reason: 'DomainWithoutCertificate',
      message: `${name} has no certificate: ${facts?.certificate?.message ?? 'it is being issued'}`,
    };
  return null;
}

function judge(host: ObservedHost, observed: Observed, config: RenderConfig): Judged {
  const former = observed.resource.status?.domains?.hosts.find((each) => each.host === host.host);
  const route = routeOf(host, observed, config);
  const state: ObservedDomain = {
    host: host.host,
    dns: dnsOf(host, former),
    proof: proofOf(host, former),
    certificate: certificateOf(host, route.state, former),
    route: route.state,
  };
  const trouble = troubleOf(host, state, route.message);
  const message = trouble === null ? {} : { message: shortened(trouble.message, MAX_DOMAIN_MESSAGE) };
  const verified = host.challenge !== null && host.proven ? { challenge: host.challenge.value } : {};
  const before = host.routedBeforeProof ? { routedBeforeProof: true } : {};
  return { state: { ...state, ...message, ...verified, ...before }, trouble };
}

/** The condition and the status of the additional hosts. */
export interface DomainFindings {
  readonly condition: Finding;
  readonly status: StatusDomains;
}

/** null: there are no additional hosts. */
export function domainFindings(observed: Observed, config: RenderConfig): DomainFindings | null {
  const { domains = [], resource } = observed;
  if (domains.length === 0) return null;
  const { recordGeneration } = resource.spec;
  if (routeKind(config) === null) return notRouted(domains, recordGeneration);
  const judged = domains.map((host) => judge(host, observed, config));
  return {
    condition: conditionOf(judged.flatMap(({ trouble }) => trouble ?? [])),
    status: { recordGeneration, hosts: judged.map(({ state }) => state) },
  };
}

function conditionOf(troubles: readonly Trouble[]): Finding {
  const worst = troubles.find(({ reason }) => reason !== 'DomainUnknown') ?? troubles[0];
  if (worst === undefined)
    return { status: 'True', reason: 'DomainsRouted', message: 'every additional host is routed' };
  const more = troubles.length === 1 ? '' : `; ${troubles.length - 1} more hosts are not ready`;
  const status = worst.reason === 'DomainUnknown' ? 'Unknown' : 'False';
  return { status, reason: worst.reason, message: `${worst.message}${more}` };
}

/** Without routes of Berth, nothing is known of the hosts. */
function notRouted(domains: readonly ObservedHost[], recordGeneration: number): DomainFindings {
  const message = 'Berth creates no routes in this cluster (BERTH_ROUTING)';
  const hosts = domains.map(({ host }) => {
    const unknown = 'UNKNOWN' as const;
    return { host, dns: unknown, proof: unknown, certificate: unknown, route: unknown, message };
  });
  return {
    condition: { status: 'Unknown', reason: 'DomainUnknown', message },
    status: { recordGeneration, hosts },
  };
}
