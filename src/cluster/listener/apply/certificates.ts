import { ANNOTATIONS, FIELD_MANAGERS, hostHash } from '../../../contract/resource/names.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import { hostTlsSecretName, tlsSecretName } from '../../../workloads/names.ts';
import { wantedHost } from '../../../workloads/objects/app-url.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/client/clock.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import { keyOf } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import { type ReconcileOutcome, runWorkers } from '../../kube/queue/controller.ts';
import { WorkQueue } from '../../kube/queue/work-queue.ts';
import { TermOver } from '../refusal.ts';
import type { Resource, ResourceView } from '../resource-view.ts';
import type { Term } from '../session/term.ts';
import type { EnvSecrets } from './env-secrets.ts';
import { notedDomains } from './former-domains.ts';

/**
 * Removes the certificates and keys of hosts that a deployment no longer uses, because another tenant may use them
 * next. cert-manager keeps the Secret when its Certificate is deleted. A change of hosts is marked by annotations on
 * the custom resource. The annotations are removed only after the Secrets are confirmed to be gone, so they survive
 * restarts.
 */

export interface CertificateOptions {
  readonly client: Pick<KubeClient, 'patch'>;
  readonly secrets: Pick<EnvSecrets, 'removeCertificate'>;
  readonly view: Pick<ResourceView, 'get' | 'noteWrite' | 'addHandlers'>;
  readonly term: Pick<Term, 'isValid'>;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Fires to stop new work. */
  readonly signal: AbortSignal;
  /** Fires to abort current work. */
  readonly abort: AbortSignal;
}

/**
 * Time for the garbage collector to delete the Certificate. Before the deletion, cert-manager would recreate the
 * Secret.
 */
const PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 600_000;

/** State that is kept between the checks of one resource. */
interface CheckState {
  readonly generation: number;
  /** Time on the clock, in ms. */
  readonly notBefore: number;
  readonly pauseMs: number;
}

/** Annotations that mark a change of hosts. */
const NOTES = [ANNOTATIONS.formerHost, ANNOTATIONS.formerDomains] as const;

const isMarked = ({ metadata }: Resource, annotation: string) =>
  metadata.annotations?.[annotation] !== undefined;

function isNoted(resource: Resource): boolean {
  const isChanged = NOTES.some((note) => isMarked(resource, note));
  return isChanged && resource.metadata.deletionTimestamp === undefined;
}

/** Whether the operator has processed the desired state and no route uses another host any more. */
function isRouted(resource: Resource): boolean {
  const { spec, status, metadata } = resource;
  if (status?.observedGeneration !== metadata.generation) return false;
  const former = notedDomains(resource);
  if (status?.routes?.hosts.some((host) => former.includes(hostHash(host))) === true) return false;
  const { url } = status ?? {};
  return url === undefined || (URL.canParse(url) && new URL(url).hostname === wantedHost(spec));
}

/** The Secrets of certificates that may be those of former hosts. `host`: a certificate for this host stays. */
function formerCertificates(resource: Resource): { secret: string; host: string | null }[] {
  const { spec, metadata } = resource;
  const ofUrl = { secret: tlsSecretName({ metadata }), host: wantedHost(spec) };
  return [
    ...(isMarked(resource, ANNOTATIONS.formerHost) ? [ofUrl] : []),
    ...notedDomains(resource).map((hash) => ({ secret: hostTlsSecretName({ metadata }, hash), host: null })),
  ];
}

/** Checks one resource. */
async function checkCertificate(
  resource: Resource,
  checks: Map<string, CheckState>,
  options: CertificateOptions,
  signal: AbortSignal,
): Promise<ReconcileOutcome> {
  const { client, secrets, view, term, logger, clock } = options;
  const key = keyOf(resource);
  const { generation = 0, namespace, name, resourceVersion } = resource.metadata;
  const now = clock.now();
  const known = checks.get(key);
  const last = known?.generation === generation ? known : undefined;
  const pause = (pauseMs: number): ReconcileOutcome => {
    checks.set(key, { generation, notBefore: now + pauseMs, pauseMs });
    return { kind: 'requeue', afterMs: pauseMs };
  };
  if (last === undefined) return pause(PAUSE_MS);
  if (now < last.notBefore) return { kind: 'requeue', afterMs: last.notBefore - now };
  const guard = () => {
    if (!term.isValid()) throw new TermOver();
  };
  const removed: string[] = [];
  for (const { secret, host } of formerCertificates(resource)) {
    const found = await secrets.removeCertificate({ namespace }, secret, guard, signal, host);
    if (found !== undefined) removed.push(secret);
  }
  if (removed.length > 0) {
    logger.info({ namespace, secrets: removed }, 'removed certificates of hosts that are no longer used');
    return pause(Math.min(2 * last.pauseMs, LONGEST_PAUSE_MS));
  }
  guard();
  const marks = NOTES.filter((note) => isMarked(resource, note));
  const annotations = Object.fromEntries(marks.map((mark) => [mark, null]));
  const patch = { metadata: { resourceVersion, annotations } };
  try {
    const written = await client.patch<Resource>(RESOURCES.ManagedDeployment, { namespace, name }, patch, {
      fieldManager: FIELD_MANAGERS.listener,
      signal,
    });
    view.noteWrite(written);
  } catch (error) {
    // The resource changed during the check. The event of the change queues it again, perhaps with another host.
    if (!isKubeError(error, 'conflict', 'not_found')) throw error;
  }
  checks.delete(key);
  return { kind: 'settled' };
}

/** Resolves when the signal has fired and all work has ended. */
export async function cleanUpCertificates(options: CertificateOptions): Promise<void> {
  const { view, logger, clock, signal, abort } = options;
  const queue = new WorkQueue({ clock });
  const checks = new Map<string, CheckState>();
  const wake = (resource: Resource) => {
    if (isNoted(resource) && isRouted(resource)) queue.add(keyOf(resource));
  };
  const unfollow = view.addHandlers({
    added: wake,
    updated: wake,
    deleted: (resource) => checks.delete(keyOf(resource)),
  });
  try {
    await runWorkers({
      queue,
      reconcile: async (key, ending) => {
        const [namespace = '', name = ''] = key.split('/');
        const resource = view.get(namespace, name);
        if (resource !== undefined && isNoted(resource) && isRouted(resource))
          return await checkCertificate(resource, checks, options, ending);
        checks.delete(key);
        return { kind: 'settled' };
      },
      workers: 1,
      logger,
      signal,
      abort,
    });
  } finally {
    unfollow();
  }
}
