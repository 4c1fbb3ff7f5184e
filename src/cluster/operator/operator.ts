import type { BuildConfig } from '../../contract/render/build-config.ts';
import type { RenderConfig } from '../../contract/render/render-config.ts';
import { type BackoffOptions, fullJitter } from '../../domain/core/backoff.ts';
import type { Logger } from '../../domain/core/logger.ts';
import type { RecordSpan } from '../../domain/core/span.ts';
import { type Policy, resolvePolicy } from '../../domain/policy/policy.ts';
import { lookUpImage } from '../image-registry/look-up.ts';
import type { RegistryOptions } from '../image-registry/repository-call.ts';
import type { KubeClient } from '../kube/client/client.ts';
import { type Clock, sleep, systemClock } from '../kube/client/clock.ts';
import { isKubeError } from '../kube/client/errors.ts';
import { EventRecorder } from '../kube/client/events.ts';
import { type LeaderElectionOptions, LeaderElector } from '../kube/leader/leader-election.ts';
import { type ReconcileOutcome, runWorkers } from '../kube/queue/controller.ts';
import { WorkQueue } from '../kube/queue/work-queue.ts';
import type { Action } from './action.ts';
import { createBuilds } from './builds/builds.ts';
import { DomainLookups, type DomainLookupsOptions } from './domains/domain-lookups.ts';
import { DigestResolver } from './images/digest-resolver.ts';
import { CHILD_KIND_NAMES } from './kinds.ts';
import { type CacheHealth, Caches } from './observe/caches.ts';
import { followOptionalKinds } from './optional-kinds.ts';
import { availableKinds, preflight } from './preflight.ts';
import { createReconciler } from './reconcile.ts';
import type { ReconcilerOptions } from './reconciler-options.ts';
import { IMPORTANT_EVENTS } from './status/transitions.ts';
import { createTasks } from './tasks/tasks.ts';

/** `candidate`: another process leads. `syncing`: this process leads, and its caches are not filled yet. */
export type OperatorState = 'starting' | 'candidate' | 'syncing' | 'leading' | 'stopped';

/** For health, metrics and logs. */
export interface OperatorHooks {
  onState?(state: OperatorState): void;
  onReconcile?(result: { key: string; outcome: ReconcileOutcome; durationMs: number }): void;
  onAction?(action: Action): void;
  /** Like onReconcile, for a reconcile of all builds. */
  onBuilds?(result: { outcome: ReconcileOutcome; durationMs: number }): void;
  /** Called at the start of a term of leadership with its queues and caches, which metrics read when they are collected. */
  onTerm?(term: { queue: WorkQueue; builds: WorkQueue | undefined; watches: () => CacheHealth[] }): void;
}

export interface OperatorOptions {
  readonly client: KubeClient;
  /** How workloads are rendered in this cluster. */
  readonly config: RenderConfig;
  /** What deployments may request; absent: the default of the hosting mode. */
  readonly policy?: Policy;
  /** Public host of the hub, which no deployment may use; absent: the host is not known. */
  readonly ownHost?: string | undefined;
  /** Hosts of other parts of the platform, which no deployment may newly claim; absent: no host is known. */
  readonly platformHosts?: readonly string[] | undefined;
  /** Domain below which the hub assigns URLs; absent or null: none is known. */
  readonly appDomain?: string | null | undefined;
  /** How to look up additional hosts in DNS; absent: their state is unknown. */
  readonly dns?: DomainLookupsOptions['dns'] | undefined;
  /** Intervals of these lookups; default: see domain-lookups.ts. */
  readonly lookupIntervals?: DomainLookupsOptions['intervals'];
  /** Configuration of builds; absent: this operator does not build. */
  readonly builds?: BuildConfig | undefined;
  /** How to look up image digests in registries; absent: images are used as given. */
  readonly images?: RegistryOptions | undefined;
  /** Interval of the reads of referenced Secrets, in ms; default: see access/secret-readings.ts. */
  readonly secretPollMs?: number | undefined;
  /** How long a symptom may last before the rollout fails, apart from the deadline; default: see failure-rules.ts. */
  readonly patience?: ReconcilerOptions['patience'];
  /** Namespaces to work in; empty: all. */
  readonly namespaces: readonly string[];
  /** Unique per process. */
  readonly identity: string;
  /** The Lease that the operators of this cluster share. */
  readonly lease: { readonly namespace: string; readonly name: string };
  /** Times of the leader election. Default 15 s, 10 s, 2 s. */
  readonly leaderElection?: Pick<
    LeaderElectionOptions,
    'leaseDurationMs' | 'renewDeadlineMs' | 'retryPeriodMs'
  >;
  /** Interval of the check whether the Gateway API is installed; default 30 s. */
  readonly discoveryMs?: number;
  /** Maximum number of concurrent reconciles; default 32. */
  readonly workers?: number;
  readonly logger: Logger;
  /** Receives a span for each reconcile that changed something. */
  readonly span?: RecordSpan;
  readonly hooks?: OperatorHooks;
  readonly clock?: Clock;
}

/** Reconciles mostly wait for the API server, so many run at once, and a few busy tenants leave workers free for others. */
export const RECONCILE_WORKERS = 32;
/** Maximum concurrent reconciles of one tenant, because a queued key waits for a running reconcile (docs/decisions/0048). */
export const MAX_RECONCILES_OF_TENANT = 12;
const DISCOVERY_MS = 30_000;
const START_BACKOFF: BackoffOptions = { baseMs: 500, capMs: 5_000 };
/**
 * Time that running reconciles have to finish after a stop. After this time, the calls of running reconciles are
 * cancelled.
 */
const DRAIN_MS = 5_000;
/** How long the end of a term may wait for pending Events to be written. */
const FLUSH_MS = 1_000;

/**
 * Runs the operator until the signal fires. The operator waits for leadership, fills its caches, then reconciles the
 * ManagedDeployments. Resolves when all parts have stopped.
 * @throws OperatorStartError when the custom resource or rights are missing
 */
export async function runOperator(options: OperatorOptions, signal: AbortSignal): Promise<void> {
  const { client, identity, lease, namespaces, builds, logger, hooks, clock = systemClock } = options;
  hooks?.onState?.('starting');
  try {
    const asked = {
      client,
      namespaces,
      leaseNamespace: lease.namespace,
      buildNamespace: builds?.namespace,
      clock,
    };
    const isPrepared = await retryUntilAnswered(options, (stopped) => preflight(asked, stopped), signal);
    if (isPrepared === undefined) return;
    const elector: LeaderElector = new LeaderElector({
      client,
      lease,
      identity,
      logger,
      clock,
      ...options.leaderElection,
      onStartedLeading: (term) =>
        lead(options, { term, stopping: signal, isLeader: () => elector.isLeader() }),
      onStoppedLeading: () => hooks?.onState?.('candidate'),
      onNewLeader: (leader) =>
        logger.info({ leader, self: leader === identity }, 'an operator was elected leader'),
    });
    hooks?.onState?.('candidate');
    await elector.run(signal);
  } finally {
    hooks?.onState?.('stopped');
  }
}

/** Retries the request until the API server responds; undefined when the process stops before a response. */
async function retryUntilAnswered<T>(
  { logger, clock = systemClock }: OperatorOptions,
  ask: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<T | undefined> {
  for (let failures = 0; !signal.aborted; failures += 1) {
    try {
      return await ask(signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!isKubeError(error) || !error.retryable) throw error;
      const delayMs = fullJitter(failures, START_BACKOFF, Math.random);
      logger.warn(
        { error: error.message, delayMs: Math.round(delayMs) },
        'the API server does not respond; waiting',
      );
      await sleep(clock, delayMs, signal);
    }
  }
  return undefined;
}

interface Term {
  /** Fires when the term ends, for any reason. */
  term: AbortSignal;
  /** Fires when the process must stop. */
  stopping: AbortSignal;
  isLeader: () => boolean;
}

/** Runs one term of leadership. */
async function lead(options: OperatorOptions, { term, stopping, isLeader }: Term): Promise<void> {
  const { client, config, namespaces, logger, hooks, clock = systemClock } = options;
  hooks?.onState?.('syncing');
  // Kinds may have been installed or removed since the last term. A watch of a removed kind would never sync.
  const kinds = await retryUntilAnswered(
    options,
    (signal) => availableKinds(client, CHILD_KIND_NAMES, signal),
    term,
  );
  if (kinds === undefined) return;
  const caches = new Caches({ client, namespaces, kinds, logger });
  const queue = new WorkQueue({
    // A tenant with a thousand resources must not delay other tenants.
    tenantOf: (key) => caches.tenantOf(key),
    perTenant: MAX_RECONCILES_OF_TENANT,
    held: true,
    clock,
  });
  const events = new EventRecorder({
    client,
    component: 'berth-operator',
    instance: options.identity,
    logger,
    clock,
    important: IMPORTANT_EVENTS,
  });
  caches.onChange((key) => queue.add(key));
  const builds = options.builds && createBuilds(options, options.builds, { caches, queue, isLeader });
  const tasks = createTasks(options, { caches, isLeader, deployments: queue });
  const images = options.images && createDigestResolver(options, options.images, { queue, signal: term });
  const lookups = options.dns && createDomainLookups(options, options.dns, { queue, signal: term });
  hooks?.onTerm?.({
    queue,
    builds: builds?.queue,
    watches: () => [...caches.stats(), ...(builds?.stats() ?? []), ...tasks.stats()],
  });
  caches.start();
  builds?.start();
  const ended = new AbortController();
  let following: Promise<void> | undefined;
  let tasking: Promise<void> | undefined;
  try {
    await Promise.all([caches.waitForSync(term), builds?.waitForSync(term)]);
    if (term.aborted) return;
    logger.info({ kinds: kinds.length, due: queue.depth }, 'caches are filled; reconciling');
    hooks?.onState?.('leading');
    queue.release();
    const intervalMs = options.discoveryMs ?? DISCOVERY_MS;
    const until = AbortSignal.any([term, ended.signal]);
    following = followOptionalKinds({ client, caches, intervalMs, clock, logger }, until);
    const building = builds?.run(term, cutOff(term, stopping));
    // Caught at once, because a rejection without a handler ends the process.
    tasking = tasks
      .run(until, cutOff(term, stopping))
      .catch((error: unknown) => logger.warn({ err: error }, 'the tasks ended with an error; next: none'));
    await runWorkers({
      queue,
      reconcile: createReconciler({
        view: caches,
        client,
        config,
        ownHost: options.ownHost,
        platformHosts: options.platformHosts,
        appDomain: options.appDomain,
        policy: options.policy ?? resolvePolicy(config.hosting),
        ownNamespace: options.lease.namespace,
        secretPollMs: options.secretPollMs,
        ...(options.patience === undefined ? {} : { patience: options.patience }),
        ...(builds === undefined ? {} : { builds }),
        ...(images === undefined ? {} : { images }),
        lookups,
        releases: tasks.releases,
        schedules: tasks.schedules,
        events,
        clock,
        logger,
        mayAct: isLeader,
        ...(options.span === undefined ? {} : { span: options.span }),
        ...(hooks?.onAction === undefined ? {} : { onAction: hooks.onAction }),
      }),
      workers: options.workers ?? RECONCILE_WORKERS,
      logger,
      signal: term,
      abort: cutOff(term, stopping),
      ...(hooks?.onReconcile === undefined ? {} : { onOutcome: hooks.onReconcile }),
    });
    await building;
    await Promise.race([events.flush(), sleep(clock, FLUSH_MS)]);
  } catch (error) {
    if (!term.aborted) throw error;
  } finally {
    ended.abort();
    // A term may end before its caches are filled. Metrics still read the queues of a term after its end.
    void queue.shutdown();
    void builds?.queue.shutdown();
    void tasks.queue.shutdown();
    await following;
    await tasking;
    await Promise.all([caches.stop(), builds?.stop()]);
  }
}

/** Resolves image digests during this term. */
function createDigestResolver(
  { client, clock = systemClock }: OperatorOptions,
  registries: RegistryOptions,
  { queue, signal }: { queue: WorkQueue; signal: AbortSignal },
): DigestResolver {
  return new DigestResolver({
    client,
    lookUp: (image, credentials, ended) => lookUpImage(image, credentials, registries, ended),
    timeoutMs: registries.timeoutMs,
    clock,
    answered: (key) => queue.add(key),
    signal,
  });
}

/** Looks up additional hosts during this term. */
function createDomainLookups(
  { client, lookupIntervals, clock = systemClock }: OperatorOptions,
  dns: DomainLookupsOptions['dns'],
  { queue, signal }: { queue: WorkQueue; signal: AbortSignal },
): DomainLookups {
  return new DomainLookups({
    dns,
    client,
    clock,
    answered: (key) => queue.add(key),
    signal,
    ...(lookupIntervals === undefined ? {} : { intervals: lookupIntervals }),
  });
}

/**
 * A signal that cancels calls in flight. When leadership is lost, the signal fires at once, because another process may
 * already be the leader. After a stop, the signal fires after DRAIN_MS, because this process still holds the lease.
 */
function cutOff(term: AbortSignal, stopping: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const onEnd = () => {
    // guard: drain-on-sigterm
    if (stopping.aborted) {
      setTimeout(() => controller.abort(), DRAIN_MS).unref();
      return;
    }
    controller.abort();
  };
  if (term.aborted) onEnd();
  else term.addEventListener('abort', onEnd, { once: true });
  return controller.signal;
}
