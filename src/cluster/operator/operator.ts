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
import { type Outcome, runWorkers } from '../kube/queue/controller.ts';
import { WorkQueue } from '../kube/queue/work-queue.ts';
import type { Action } from './action.ts';
import { createBuilds } from './builds/builds.ts';
import { ImageLooks } from './images/digest-resolver.ts';
import { CHILD_KIND_NAMES } from './kinds.ts';
import { Caches, type WatchStats } from './observe/caches.ts';
import { followOptionalKinds } from './optional-kinds.ts';
import { availableKinds, preflight } from './preflight.ts';
import { createReconciler } from './reconcile.ts';
import type { ReconcilerOptions } from './reconciler-options.ts';
import { IMPORTANT_NEWS } from './rollout/transitions.ts';

/** `candidate`: another one leads. `syncing`: leads, and fills its caches. */
export type OperatorState = 'starting' | 'candidate' | 'syncing' | 'leading' | 'stopped';

/** For health, metrics and logs. */
export interface OperatorHooks {
  onState?(state: OperatorState): void;
  onReconcile?(result: { key: string; outcome: Outcome; durationMs: number }): void;
  onAction?(action: Action): void;
  /** As onReconcile, of a look at all builds. */
  onBuilds?(result: { outcome: Outcome; durationMs: number }): void;
  /** The queues and caches of a term of leadership, to be looked at whenever metrics are asked for. */
  onTerm?(term: { queue: WorkQueue; builds: WorkQueue | undefined; watches: () => WatchStats[] }): void;
}

export interface OperatorOptions {
  readonly client: KubeClient;
  /** How workloads are rendered in this cluster. */
  readonly config: RenderConfig;
  /** What pods may be; absent: what the hosting mode lets them. */
  readonly policy?: Policy;
  /** Host under which the hub itself is reached, which no deployment may have; absent: not known. */
  readonly ownHost?: string | undefined;
  /** Hosts of the other parts of the platform, which no deployment may newly have; absent: none is known. */
  readonly platformHosts?: readonly string[] | undefined;
  /** How builds are run; absent: nothing is built. */
  readonly builds?: BuildConfig | undefined;
  /** How registries are asked for the digests of images; absent: images are used as given. */
  readonly images?: RegistryOptions | undefined;
  /** How long trouble may last before a rollout has failed, the deadline aside; default: see failure-rules. */
  readonly patience?: ReconcilerOptions['patience'];
  /** Namespaces to work in; empty: all. */
  readonly namespaces: readonly string[];
  /** Unique per process. */
  readonly identity: string;
  /** The Lease that the operators of this cluster share. */
  readonly lease: { readonly namespace: string; readonly name: string };
  /** Default 15 s, 10 s, 2 s. */
  readonly leaderElection?: Pick<
    LeaderElectionOptions,
    'leaseDurationMs' | 'renewDeadlineMs' | 'retryPeriodMs'
  >;
  /** Between two looks whether the Gateway API has come or gone, where routes are made of it; default 30 s. */
  readonly discoveryMs?: number;
  /** Custom resources looked at side by side; default 32. */
  readonly workers?: number;
  readonly logger: Logger;
  /** Takes a span of each look that has changed something. */
  readonly span?: RecordSpan;
  readonly hooks?: OperatorHooks;
  readonly clock?: Clock;
}

/** Looks wait for the server most of their time: so many that those of a few busy tenants leave some free. */
export const LOOKS_AT_ONCE = 32;
/** At once: whatever waits for a worker waits as long as the look that has it (docs/decisions/0048). */
export const LOOKS_OF_ONE_TENANT = 12;
const DISCOVERY_MS = 30_000;
const START_BACKOFF: BackoffOptions = { baseMs: 500, capMs: 5_000 };
/** A reconcile that is under way may end in order for so long after a stop; then its calls are cut off. */
const DRAIN_MS = 5_000;
/** Events that are still to be told may hold up the end of a term for so long. */
const FLUSH_MS = 1_000;

/**
 * Runs the operator until the signal fires: waits for leadership, fills its caches, then keeps the cluster as the
 * ManagedDeployments want it. Resolves when nothing of it runs any more.
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
    const isPrepared = await persisting(options, (stopped) => preflight(asked, stopped), signal);
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
        logger.info({ leader, self: leader === identity }, 'the operators have a leader'),
    });
    hooks?.onState?.('candidate');
    await elector.run(signal);
  } finally {
    hooks?.onState?.('stopped');
  }
}

/** An answer of the API server, however long it is away; undefined: stopped meanwhile. */
async function persisting<T>(
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
        'the API server does not answer; waiting',
      );
      await sleep(clock, delayMs, signal);
    }
  }
  return undefined;
}

interface Term {
  /** Fires when it ends, for whatever reason. */
  term: AbortSignal;
  /** Fires when the process is to end. */
  stopping: AbortSignal;
  isLeader: () => boolean;
}

/** One term of leadership. */
async function lead(options: OperatorOptions, { term, stopping, isLeader }: Term): Promise<void> {
  const { client, config, namespaces, logger, hooks, clock = systemClock } = options;
  hooks?.onState?.('syncing');
  // Since the process began, or the term before, one may have been installed, or removed: that list would never come.
  const kinds = await persisting(options, (signal) => availableKinds(client, CHILD_KIND_NAMES, signal), term);
  if (kinds === undefined) return;
  const caches = new Caches({ client, namespaces, kinds, logger });
  const queue = new WorkQueue({
    // A thousand resources of one do not keep another one's waiting.
    groupOf: (key) => caches.tenantOf(key),
    maxOfGroup: LOOKS_OF_ONE_TENANT,
    held: true,
    clock,
  });
  const events = new EventRecorder({
    client,
    component: 'berth-operator',
    instance: options.identity,
    logger,
    clock,
    important: IMPORTANT_NEWS,
  });
  caches.onChange((key, cause) => queue.add(key, { ahead: cause === 'asked' }));
  const builds = options.builds && createBuilds(options, options.builds, { caches, queue, isLeader });
  const images = options.images && createLooks(options, options.images, { queue, signal: term });
  hooks?.onTerm?.({
    queue,
    builds: builds?.queue,
    watches: () => [...caches.stats(), ...(builds?.stats() ?? [])],
  });
  caches.start();
  builds?.start();
  const ended = new AbortController();
  let following: Promise<void> | undefined;
  try {
    await Promise.all([caches.waitForSync(term), builds?.waitForSync(term)]);
    if (term.aborted) return;
    logger.info({ kinds: kinds.length, due: queue.depth }, 'caches are filled; reconciling');
    hooks?.onState?.('leading');
    queue.release();
    if (config.routing.mode === 'gateway') {
      const intervalMs = options.discoveryMs ?? DISCOVERY_MS;
      const signal = AbortSignal.any([term, ended.signal]);
      following = followOptionalKinds({ client, caches, intervalMs, clock, logger }, signal);
    }
    const building = builds?.run(term, cutOff(term, stopping));
    await runWorkers({
      queue,
      reconcile: createReconciler({
        view: caches,
        client,
        config,
        ownHost: options.ownHost,
        platformHosts: options.platformHosts,
        policy: options.policy ?? resolvePolicy(config.hosting),
        ...(options.patience === undefined ? {} : { patience: options.patience }),
        ...(builds === undefined ? {} : { builds }),
        ...(images === undefined ? {} : { images }),
        events,
        clock,
        logger,
        mayAct: isLeader,
        ...(options.span === undefined ? {} : { span: options.span }),
        ...(hooks?.onAction === undefined ? {} : { onAction: hooks.onAction }),
      }),
      workers: options.workers ?? LOOKS_AT_ONCE,
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
    // A term may end before its caches are filled, and metrics go on to tell of its queues.
    void queue.shutdown();
    void builds?.queue.shutdown();
    await following;
    await Promise.all([caches.stop(), builds?.stop()]);
  }
}

/** Looks at registries, as long as the term lasts. */
function createLooks(
  { client, clock = systemClock }: OperatorOptions,
  registries: RegistryOptions,
  { queue, signal }: { queue: WorkQueue; signal: AbortSignal },
): ImageLooks {
  return new ImageLooks({
    client,
    lookUp: (image, credentials, ended) => lookUpImage(image, credentials, registries, ended),
    timeoutMs: registries.timeoutMs,
    clock,
    answered: (key) => queue.add(key),
    signal,
  });
}

/**
 * When calls under way have to end: at once when leadership is lost, for somebody else may lead already; a while after
 * a stop, for the lease is still ours.
 */
function cutOff(term: AbortSignal, stopping: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const onEnd = () => {
    if (!stopping.aborted) return controller.abort();
    setTimeout(() => controller.abort(), DRAIN_MS).unref();
  };
  if (term.aborted) onEnd();
  else term.addEventListener('abort', onEnd, { once: true });
  return controller.signal;
}
