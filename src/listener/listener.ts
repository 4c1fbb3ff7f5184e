import type { RenderConfig } from '../contract/render-config.ts';
import type { Logger } from '../domain/logger.ts';
import type { KubeClient } from '../kube/client.ts';
import { type Clock, sleep, systemClock } from '../kube/clock.ts';
import { runWorkers } from '../kube/controller.ts';
import { keyOf } from '../kube/object.ts';
import { Reflector } from '../kube/reflector.ts';
import { RESOURCES } from '../kube/resources.ts';
import { type Admission, createAdmission, fired } from './admission.ts';
import { ClusterProbe } from './cluster-facts.ts';
import { EnvSecrets } from './env-secrets.ts';
import type { HubClient } from './hub-client.ts';
import { FIXED_QUOTA } from './namespace-quota.ts';
import { goneItem, observedReport } from './observe.ts';
import { Outbox } from './outbox.ts';
import { pullWork } from './puller.ts';
import { hasOwnLabels, isEdited, lacksEnvironment, type Resource, ResourceView } from './resource-view.ts';
import { runSender } from './sender.ts';
import { TenantNamespaces } from './tenant-namespace.ts';
import { runTerms, type Term } from './term.ts';
import { WorkTable } from './work-table.ts';

/** Hub ↔ custom resources: takes the hub's lease, applies what is wanted, reports what is there. */

export interface ListenerOptions {
  hub: HubClient;
  client: KubeClient;
  /** Unique per process start. */
  identity: string;
  /** Berth's. */
  version: string;
  /** Namespaces to work in; empty: all. */
  namespaces: readonly string[];
  /** Where Berth itself runs in this cluster: nothing is applied there. */
  ownNamespace?: string;
  /** The operator's rendering configuration. */
  rendering: Omit<RenderConfig, 'kubernetesVersion'>;
  /** Quota of tenants' namespaces beside what follows from the tenants' own; null: none at all. Default: FIXED_QUOTA. */
  tenantQuota?: Readonly<Record<string, string>> | null;
  /**
   * Told whenever the hub has answered to the attempt to take the lease. After the first time the hub knows the
   * namespaces: a deployment that names none goes where this listener may work.
   */
  onHubAnswer?: () => void;
  /** Told when a term of acting begins (cache filled, lease held) and ends. */
  onActing?: (acting: boolean) => void;
  logger: Logger;
  clock?: Clock;
  random?: () => number;
}

const WORKERS = 16;
const ITEM_DEADLINE_MS = 45_000;
const INVENTORY_EVERY_MS = 600_000;
/** On stop: work under way may finish, then reports are sent, then the lease is released; together below 10 s. */
const WORK_DRAIN_MS = 4000;
const REPORT_DRAIN_MS = 3000;

interface Parts {
  options: ListenerOptions;
  clock: Clock;
  random: () => number;
  view: ResourceView;
  probe: ClusterProbe;
  admission: Admission;
  secrets: EnvSecrets;
  namespaces: TenantNamespaces;
}

function createView({ client, logger, namespaces }: ListenerOptions, clock: Clock): ResourceView {
  const names = namespaces.length === 0 ? [''] : [...new Set(namespaces)];
  const reflectors = names.map((namespace) => {
    const scope = namespace === '' ? {} : { namespace };
    return [
      namespace,
      new Reflector<Resource>({ client, resource: RESOURCES.ManagedDeployment, logger, clock, ...scope }),
    ] as const;
  });
  return new ResourceView(new Map(reflectors));
}

function createParts(options: ListenerOptions): Parts {
  const { client, logger, rendering, clock = systemClock, random = Math.random } = options;
  const view = createView(options, clock);
  return {
    options,
    clock,
    random,
    view,
    probe: new ClusterProbe({
      client,
      namespaces: options.namespaces,
      lastError: () => view.lastError(),
      unreadable: () => view.unreadable(),
      rendering,
      logger,
      clock,
    }),
    admission: createAdmission(options.hub),
    secrets: new EnvSecrets({ client, logger }),
    namespaces: new TenantNamespaces({
      client,
      podSecurity: rendering.podSecurity,
      quota: options.tenantQuota === undefined ? FIXED_QUOTA : options.tenantQuota,
      clock,
    }),
  };
}

/** What happens to custom resources is told to the hub: every status, and what somebody else did to spec. */
function followResources(view: ResourceView, outbox: Outbox, secrets: EnvSecrets): () => void {
  const observe = (resource: Resource) => {
    const report = observedReport(resource);
    if (report !== null) outbox.addObserved(report);
  };
  const compare = (resource: Resource) => {
    const gone = goneItem(resource);
    if (gone !== null) outbox.touch(keyOf(resource), gone);
  };
  return view.addHandlers({
    added: (resource) => {
      observe(resource);
      // It may be one whose deployment is long gone.
      if (!view.isOwnWrite) compare(resource);
    },
    updated: (resource, old) => {
      observe(resource);
      const isNew = resource.metadata.generation !== old.metadata.generation;
      // Labels raise no generation; told when they go, not with every event after.
      const lostLabels = hasOwnLabels(old) && !hasOwnLabels(resource);
      const lacksSecret = lacksEnvironment(resource);
      if (lacksSecret) secrets.forget(resource);
      const lostSecret = lacksSecret && !lacksEnvironment(old);
      if ((isNew && isEdited(resource)) || lostLabels || lostSecret) compare(resource);
    },
    deleted: (resource) => {
      const gone = goneItem(resource);
      if (gone === null) return;
      outbox.forget(gone.deployment_id);
      outbox.touch(keyOf(resource), gone);
    },
  });
}

async function takeInventories(outbox: Outbox, { clock, random }: Parts, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    outbox.touchEverything();
    await sleep(clock, INVENTORY_EVERY_MS * (0.9 + 0.2 * random()), signal);
  }
}

/** One term: act until it is lost or the process stops, then end in order. */
async function act(parts: Parts, term: Term, stopping: AbortSignal): Promise<void> {
  const { options, clock, random, view, probe, admission, secrets, namespaces } = parts;
  const { hub, client, logger } = options;
  const ending = AbortSignal.any([term.lost, stopping]);
  try {
    await view.waitForSync(ending);
  } catch (error) {
    if (ending.aborted) return;
    throw error;
  }
  await admission.wait(ending);
  if (ending.aborted) return;
  const draining = new AbortController();
  const cut = new AbortController();
  term.lost.addEventListener('abort', () => cut.abort(term.lost.reason), { once: true });
  const outbox = new Outbox();
  const table = new WorkTable({
    deps: { client, view, secrets, namespaces, logger, ownNamespace: options.ownNamespace },
    outbox,
    term,
    logger,
    clock,
    random,
  });
  const shared = { hub, term, logger, clock, random };
  const unfollow = followResources(view, outbox, secrets);
  const sending = runSender({ ...shared, outbox, view, draining: draining.signal });
  const pulling = pullWork({ ...shared, table, isReachable: () => probe.isReachable, signal: ending });
  view.onLateSync(() => outbox.touchEverything(), ending);
  const taking = takeInventories(outbox, parts, ending);
  const working = runWorkers({
    queue: table.queue,
    reconcile: (key, signal) => table.reconcile(key, signal),
    workers: WORKERS,
    deadlineMs: ITEM_DEADLINE_MS,
    logger,
    signal: ending,
    abort: cut.signal,
  });
  options.onActing?.(true);
  try {
    await fired(ending);
    await Promise.all([pulling, taking]);
    const cancelCut = clock.after(WORK_DRAIN_MS, () => cut.abort(new Error('the listener stops')));
    await working;
    cancelCut();
    draining.abort();
    await Promise.race([sending, sleep(clock, REPORT_DRAIN_MS)]);
  } finally {
    unfollow();
    options.onActing?.(false);
  }
}

/**
 * Runs the listener until the signal fires; then ends work under way, sends what there is to tell, releases the lease
 * and resolves, within 10 s. Several processes of one listener may run: the hub's lease chooses the one that acts.
 */
export async function runListener(options: ListenerOptions, signal: AbortSignal): Promise<void> {
  const parts = createParts(options);
  const { identity, version, namespaces, logger } = options;
  const { view, probe, admission, clock, random } = parts;
  view.start();
  try {
    await runTerms(
      {
        hub: admission.hub,
        identity,
        version,
        namespaces: namespaces.length === 0 ? null : namespaces,
        clusterFacts: () => probe.facts(),
        ...(options.onHubAnswer === undefined ? {} : { onAnswer: options.onHubAnswer }),
        act: (term) => act(parts, term, signal),
        logger,
        clock,
        random,
      },
      signal,
    );
  } finally {
    await view.stop();
  }
}
