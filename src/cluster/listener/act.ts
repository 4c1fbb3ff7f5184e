import { sleep } from '../kube/client/clock.ts';
import { runWorkers } from '../kube/queue/controller.ts';
import { cleanUpCertificates } from './apply/certificates.ts';
import { pullWork } from './apply/puller.ts';
import { ResourceLocks } from './apply/resource-locks.ts';
import { removeConfirmedVolumes } from './apply/volume-removal.ts';
import { WorkTable } from './apply/work-table.ts';
import { cleanUpBuilds } from './builds/build-cleanup.ts';
import { followBuildLogs } from './builds/build-logs.ts';
import type { ListenerParts } from './listener-parts.ts';
import { serveLogRequests } from './logs/log-requests.ts';
import { followResources } from './report/follow-resources.ts';
import { Outbox } from './report/outbox.ts';
import { runSender } from './report/sender.ts';
import { fired } from './session/admission.ts';
import type { Term } from './session/term.ts';
import { runTasks } from './tasks/run-tasks.ts';

/** Work items that are processed at the same time, for all tenants together. */
export const ITEMS_AT_ONCE = 16;
const ITEM_DEADLINE_MS = 45_000;
const INVENTORY_EVERY_MS = 600_000;
/** On stop: current work may finish, then reports are sent, then the lease is released; below 10 s in total. */
const WORK_DRAIN_MS = 4000;
const REPORT_DRAIN_MS = 3000;

async function takeInventories(
  outbox: Outbox,
  { clock, random }: ListenerParts,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    outbox.touchEverything();
    await sleep(clock, INVENTORY_EVERY_MS * (0.9 + 0.2 * random()), signal);
  }
}

/** One term. Acts until the lease is lost or the process stops, then shuts down in order. */
export async function actDuringTerm(parts: ListenerParts, term: Term, stopping: AbortSignal): Promise<void> {
  const {
    options,
    clock,
    random,
    view,
    probe,
    admission,
    secrets,
    pullSecrets,
    identities,
    builds,
    namespaces,
  } = parts;
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
  const locks = new ResourceLocks();
  const table = new WorkTable({
    locks,
    deps: {
      client,
      view,
      secrets,
      pullSecrets,
      identities,
      builds,
      namespaces,
      logger,
      ownNamespace: options.ownNamespace,
    },
    outbox,
    term,
    ...(options.span === undefined ? {} : { span: options.span }),
    logger,
    clock,
    random,
  });
  const shared = { hub, term, logger, clock, random };
  const unfollow = followResources(parts, outbox, (deploymentId) => table.isPurging(deploymentId));
  const sending = runSender({ ...shared, outbox, view, draining: draining.signal });
  const pulling = pullWork({ ...shared, table, isReachable: () => probe.isReachable, signal: ending });
  view.onLateSync(() => outbox.touchEverything(), ending);
  const taking = takeInventories(outbox, parts, ending);
  const tidied = { view, term, logger, clock, signal: ending, abort: cut.signal };
  const tidying = builds && cleanUpBuilds({ ...tidied, builds });
  const certificates = cleanUpCertificates({ ...tidied, client, secrets });
  const volumes = removeConfirmedVolumes({ ...tidied, client, hub, locks });
  const namespace = options.buildNamespace;
  const logging =
    namespace === undefined ? undefined : followBuildLogs({ ...tidied, client, hub, namespace });
  const reading = serveLogRequests({ ...shared, client, view, signal: ending });
  const tasks = runTasks({ ...shared, client, view, namespaces: options.namespaces, signal: ending });
  const working = runWorkers({
    queue: table.queue,
    reconcile: (key, signal, reconcileId) => table.reconcile(key, signal, reconcileId),
    workers: ITEMS_AT_ONCE,
    deadlineMs: ITEM_DEADLINE_MS,
    logger,
    signal: ending,
    abort: cut.signal,
    ...(options.onOutcome === undefined ? {} : { onOutcome: options.onOutcome }),
  });
  options.onTerm?.({ queue: table.queue, watches: () => view.stats() });
  options.onActing?.(true);
  try {
    await fired(ending);
    await Promise.all([pulling, taking, reading, tasks]);
    const cancelCut = clock.after(WORK_DRAIN_MS, () => cut.abort(new Error('the listener stops')));
    await Promise.all([working, tidying, certificates, volumes, logging]);
    cancelCut();
    draining.abort();
    await Promise.race([sending, sleep(clock, REPORT_DRAIN_MS)]);
  } finally {
    unfollow();
    options.onActing?.(false);
  }
}
