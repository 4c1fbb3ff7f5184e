import type { RenderConfig } from '../../../contract/render/render-config.ts';
import { hostHash } from '../../../contract/resource/names.ts';
import { hostRouteName, hostTlsSecretName } from '../../../workloads/names.ts';
import { wantedDomains } from '../../../workloads/objects/app-url.ts';
import { routeKind } from '../../../workloads/objects/routing.ts';
import type { UntypedObject } from '../../kube/client/object.ts';
import { claimRefusal, type HostRules, type Hosts, hasRoute } from '../access/host-claims.ts';
import { challengeFor, isProven, isRecorded, recordedHost } from '../access/host-proof.ts';
import { liveChild, type Observed } from '../observed.ts';
import type { DomainLookups } from './domain-lookups.ts';
import type { HostQuestion } from './lookup.ts';
import type { ObservedHost } from './observed-host.ts';

/** Observes the additional hosts of a custom resource, and decides which of them may be routed. */

export interface DomainsContext {
  readonly view: Hosts;
  readonly config: RenderConfig;
  readonly rules: HostRules;
  /** Absent: this operator looks up no hosts. */
  readonly lookups?: Pick<DomainLookups, 'of' | 'hasFound' | 'forget'> | undefined;
}

export interface ObservedDomains {
  readonly hosts: readonly ObservedHost[];
  /** Time in ms after which the hosts are observed again; null: no lookup is needed. */
  readonly pauseMs: number | null;
}

function questionsOf(
  observed: Observed,
  hosts: readonly Pick<ObservedHost, 'host' | 'routeName' | 'challenge'>[],
  config: RenderConfig,
): HostQuestion[] {
  const { resource } = observed;
  const kind = routeKind(config);
  const hasIssuer = kind === 'Ingress' && config.routing.tlsIssuer !== null;
  return hosts.map(({ host, routeName, challenge }) => {
    const route = liveChild(observed, 'Ingress', routeName);
    return {
      host,
      challenge: challenge === null || isRecorded(resource, host) ? null : challenge,
      certificate: hasIssuer && route !== undefined ? hostTlsSecretName(resource, hostHash(host)) : null,
    };
  });
}

/** Whether the host was routed while the policy asked for no proof. The status records it, so that a restart does not end it. */
function wasRoutedBefore(resource: UntypedObject, host: string, isRouted: boolean): boolean {
  const { proof, routedBeforeProof = false } = recordedHost(resource, host) ?? {};
  return routedBeforeProof || (proof === 'NOT_REQUIRED' && isRouted);
}

/** The additional hosts of a custom resource; null: it has no additional hosts. */
export function observeDomains(
  key: string,
  observed: Observed,
  context: DomainsContext,
): ObservedDomains | null {
  const { resource } = observed;
  const { view, config, rules, lookups } = context;
  const names = wantedDomains(resource.spec);
  if (names.length === 0) {
    lookups?.forget(key);
    return null;
  }
  const asked = names.map((host) => ({
    host,
    routeName: hostRouteName(resource, host),
    challenge: rules.domains.require_proof ? challengeFor(resource, host) : null,
  }));
  const isRouted = routeKind(config) !== null;
  const state = isRouted
    ? lookups?.of(key, resource.metadata.namespace, questionsOf(observed, asked, config))
    : undefined;
  const hosts = asked.map(({ host, routeName, challenge }): ObservedHost => {
    const own = resource as unknown as UntypedObject;
    const proven = challenge === null || isProven(host, own, rules);
    const refused = claimRefusal(host, own, view, rules);
    const routed = hasRoute(own, host, view);
    const routedBeforeProof = !proven && wasRoutedBefore(own, host, routed);
    const facts = state?.facts.get(host);
    return { host, routeName, refused, challenge, proven, routedBeforeProof, routed, facts };
  });
  return { hosts, pauseMs: state?.pauseMs ?? null };
}
