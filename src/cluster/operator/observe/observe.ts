import { domainPolicy } from '../../../domain/policy/policy-domains.ts';
import { foreignReferences } from '../access/foreign-references.ts';
import { type HostRules, hostRefusal } from '../access/host-claims.ts';
import { SECRET_POLL_MS, withSecretReadings } from '../access/secret-readings.ts';
import { checked } from '../access/spec-policy.ts';
import { standingFailure } from '../builds/standing-failure.ts';
import { unbuiltStatus } from '../builds/unbuilt.ts';
import { observeDomains } from '../domains/observe-domains.ts';
import { imageQuery } from '../images/image-lookup.ts';
import type { Remembered } from '../memory.ts';
import type { Observed } from '../observed.ts';
import type { ReconcileContext } from '../reconcile-context.ts';
import type { ReconcileTime } from '../reconcile-time.ts';
import type { ReconcilerOptions } from '../reconciler-options.ts';
import { withReleaseTasks } from '../releases/observe-release.ts';
import { withWarningEvents } from './live-reads.ts';

/**
 * Completes the gathered state: which parts of the spec are forbidden, how the cluster changed earlier writes, whether
 * the host may be used, the values of referenced Secrets, the state of build and image, and warning events.
 * @throws KubeError when a live read fails
 */
export async function observe(
  key: string,
  gathered: Observed,
  time: ReconcileTime,
  { options, patience, secretRules, markerKey, remembered, signal }: ReconcileContext,
): Promise<Observed> {
  const { view, client, policy } = options;
  const { resource } = gathered;
  remembered.checked = checked(resource, policy, remembered.checked);
  remembered.responses.recall(resource.status?.acceptedChanges ?? []);
  const responses = remembered.responses.known(time.ticks);
  const { ticks } = time;
  const check = { view, client, rules: secretRules, signal, remembered };
  const foreign = await foreignReferences(gathered, { ...check, ticks });
  const withSecrets = await withSecretReadings(gathered, {
    ...check,
    markerKey,
    time,
    pollMs: options.secretPollMs ?? SECRET_POLL_MS,
    patienceMs: patience.configErrorMs,
  });
  const bySpec = new Set(remembered.checked.forbidden.map(({ resourcePath }) => resourcePath));
  const forbidden = [
    ...remembered.checked.forbidden,
    ...foreign.filter(({ resourcePath }) => !bySpec.has(resourcePath)),
  ];
  const schedules = options.schedules?.findingOf(key) ?? null;
  const withSpecChecks = { ...withSecrets, forbidden, responses, schedules };
  const withHostCheck = withHost(withBuildAndImage(withSpecChecks, key, options), options);
  const withTasks = await withReleaseTasks(withHostCheck, key, {
    client,
    view,
    releases: options.releases,
    signal,
  });
  const withDomains = addDomains(withTasks, key, options, remembered);
  return await withWarningEvents(withDomains, { client, remembered, time, signal });
}

/** Adds the state of builds and image lookups, which run outside the reconcile workers. */
function withBuildAndImage(
  observed: Observed,
  key: string,
  { builds, images }: Pick<ReconcilerOptions, 'builds' | 'images'>,
): Observed {
  const { resource } = observed;
  const requested = builds === undefined ? unbuiltStatus(resource) : builds.statusOf(resource);
  const build = requested ?? standingFailure(resource);
  const image = images?.resolve(key, imageQuery(observed));
  return {
    ...observed,
    ...(build === undefined ? {} : { build }),
    ...(image === undefined ? {} : { image }),
  };
}

/** Adds the additional hosts, and notes when they are looked up again. */
function addDomains(
  observed: Observed,
  key: string,
  options: ReconcilerOptions,
  remembered: Remembered,
): Observed {
  const { view, config, lookups } = options;
  const found = observeDomains(key, observed, { view, config, rules: hostRules(options), lookups });
  remembered.domainsPauseMs = found?.pauseMs ?? null;
  return found === null ? observed : { ...observed, domains: found.hosts };
}

/** Adds why the desired host is rejected: it belongs to another deployment or the platform, or the policy rejects it. */
function withHost(observed: Observed, options: ReconcilerOptions): Observed {
  const hostRefused = hostRefusal(observed, options.view, hostRules(options));
  return hostRefused === null ? observed : { ...observed, hostRefused };
}

function hostRules({ ownHost, platformHosts, appDomain, policy, lookups }: ReconcilerOptions): HostRules {
  return {
    platform: { own: ownHost ?? null, others: platformHosts ?? [], refused: policy.custom_url.refused_hosts },
    appDomain: appDomain ?? null,
    domains: domainPolicy(policy),
    isFound: lookups && ((key, host, value) => lookups.hasFound(key, host, value)),
  };
}
