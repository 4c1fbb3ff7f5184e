import type { RenderConfig } from '../../../contract/render/render-config.ts';
import { hostHash } from '../../../contract/resource/names.ts';
import { type Challenge, challengeOf } from '../../../domain/app-hosts/challenge.ts';
import type { Policy } from '../../../domain/policy/policy.ts';
import { domainRefusal, type PlatformNames } from '../../../domain/policy/policy-domains.ts';
import { hostRouteName, hostTlsSecretName } from '../../../workloads/names.ts';
import { wantedDomains } from '../../../workloads/objects/app-url.ts';
import { routeKind } from '../../../workloads/objects/routing.ts';
import type { UntypedObject } from '../../kube/client/object.ts';
import { type Hosts, hasRoute, isTaken } from '../access/host-claims.ts';
import { liveChild, type Observed, type ObservedResource } from '../observed.ts';
import type { DomainLookups, HostQuestion } from './domain-lookups.ts';
import type { ObservedHost } from './observed-host.ts';

/** Observes the additional hosts of a custom resource, and decides which of them may be routed. */

export interface DomainsContext {
  readonly view: Hosts;
  readonly config: RenderConfig;
  readonly policy: Policy['domains'];
  readonly platform: PlatformNames;
  /** Absent: this operator looks up no hosts. */
  readonly lookups?: Pick<DomainLookups, 'of' | 'forget'> | undefined;
}

export interface ObservedDomains {
  readonly hosts: readonly ObservedHost[];
  /** Time until the next lookup is due, in ms; null: none is due. */
  readonly pauseMs: number | null;
}

type StatusHost = NonNullable<NonNullable<ObservedResource['status']>['domains']>['hosts'][number];

function recordedHost(resource: Pick<ObservedResource, 'status'>, host: string): StatusHost | undefined {
  return resource.status?.domains?.hosts.find((each) => each.host === host);
}

/** The TXT record of a host for a custom resource. The namespace cannot be chosen by its writer, unlike the token. */
function challengeFor({ spec, metadata }: UntypedObject | ObservedResource, host: string): Challenge {
  const { domainToken } = (spec as ObservedResource['spec'] | undefined)?.routing ?? {};
  return challengeOf(host, metadata.namespace ?? '', domainToken);
}

/** Whether the status of a resource records that the TXT record with the present value was found. */
function isRecorded(resource: UntypedObject | ObservedResource, host: string): boolean {
  const recorded = recordedHost(resource as ObservedResource, host);
  return recorded?.challenge === challengeFor(resource, host).value;
}

function questionsOf(
  { resource, missingKinds, children }: Observed,
  hosts: readonly Pick<ObservedHost, 'host' | 'routeName' | 'challenge'>[],
  config: RenderConfig,
): HostQuestion[] {
  const kind = routeKind(config);
  const hasIssuer = kind === 'Ingress' && config.routing.tlsIssuer !== null;
  return hosts.map(({ host, routeName, challenge }) => {
    const route = liveChild({ resource, children, missingKinds } as Observed, 'Ingress', routeName);
    return {
      host,
      challenge: challenge === null || isRecorded(resource, host) ? null : challenge,
      certificate: hasIssuer && route !== undefined ? hostTlsSecretName(resource, hostHash(host)) : null,
    };
  });
}

function refusalOf(
  host: string,
  proven: boolean,
  { resource }: Observed,
  { view, policy, platform }: DomainsContext,
): string | null {
  const asked = resource as unknown as UntypedObject;
  // The policy applies to new routes. An existing one stays when the policy becomes narrower.
  const rules = hasRoute(asked, host, view) ? { ...policy, allowed_hosts: ['*'], refused_hosts: [] } : policy;
  const refusal = domainRefusal(host, platform, rules);
  if (refusal !== null) return `${host} ${refusal}`;
  const isProven = (each: UntypedObject) =>
    !policy.require_proof || (each === asked ? proven : isRecorded(each, host));
  return isTaken(host, asked, view, isProven) ? `the host ${host} belongs to another deployment` : null;
}

/** The additional hosts of a custom resource; null: it has no additional hosts. */
export function observeDomains(
  key: string,
  observed: Observed,
  context: DomainsContext,
): ObservedDomains | null {
  const { resource } = observed;
  const { config, policy, lookups } = context;
  const names = wantedDomains(resource.spec);
  if (names.length === 0) {
    lookups?.forget(key);
    return null;
  }
  const asked = names.map((host) => ({
    host,
    routeName: hostRouteName(resource, host),
    challenge: policy.require_proof ? challengeFor(resource, host) : null,
  }));
  const isRouted = routeKind(config) !== null;
  const state = isRouted
    ? lookups?.of(key, resource.metadata.namespace, questionsOf(observed, asked, config))
    : undefined;
  const hosts = asked.map(({ host, routeName, challenge }): ObservedHost => {
    const facts = state?.facts.get(host);
    const proven = challenge === null || isRecorded(resource, host) || facts?.proven === true;
    return { host, routeName, refused: refusalOf(host, proven, observed, context), challenge, proven, facts };
  });
  return { hosts, pauseMs: state?.pauseMs ?? null };
}
