import type { BuildConfig } from '../../../contract/render/build-config.ts';
import type { BuildStatus } from '../../../contract/resource/build.ts';
import { LABELS } from '../../../contract/resource/names.ts';
import { canonicalJson } from '../../../domain/core/hash.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import { buildJob } from '../../../workloads/objects/build-job.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/client/clock.ts';
import { isKubeError, KubeError } from '../../kube/client/errors.ts';
import { keyOf, type UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import type { ReconcileOutcome } from '../../kube/queue/controller.ts';
import type { ObservedResource } from '../observed.ts';
import { asDate, reconcileTime } from '../reconcile-time.ts';
import { isPaused } from '../status/conditions.ts';
import { type BuildCaches, buildKeyOf } from './build-caches.ts';
import { type BuildAction, decideBuilds, type WantedBuild } from './decide-builds.ts';
import { type BuildJudgement, judgeBuild } from './judge-build.ts';
import { isOfBuild, type JobRefusal, type ObservedJob } from './observed-build.ts';
import { withoutPrivateHost } from './private-host.ts';
import { type CachedResources, WantedResources } from './wanted-resources.ts';

export interface BuildControllerOptions {
  readonly client: Pick<KubeClient, 'create' | 'delete' | 'find'>;
  readonly config: BuildConfig;
  readonly caches: BuildCaches;
  readonly resources: CachedResources;
  /** Called when the status of a custom resource must be written again. */
  readonly changed: (key: string) => void;
  readonly mayAct: () => boolean;
  readonly clock: Pick<Clock, 'date' | 'now'>;
  readonly logger: Logger;
}

/**
 * Pause after a rejected Job. The cause may be temporary, such as a namespace quota, or another owner's Job of the same
 * name.
 */
const REFUSED_PAUSE_MS = 15_000;

interface StandingRefusal extends JobRefusal {
  readonly revisionId: string;
  /** End of the pause, in ticks (reconcile-time.ts). */
  readonly until: number;
}

/**
 * Creates and deletes the Jobs of builds. One reconcile covers all builds, so that a free slot is assigned once. All
 * state is in the cluster. `statusOf` reads the state of a build from the same caches.
 */
export class BuildController {
  readonly #options: BuildControllerOptions;
  readonly #refusals = new Map<string, StandingRefusal>();
  readonly #resources: WantedResources;

  constructor(options: BuildControllerOptions) {
    this.#options = options;
    this.#resources = new WantedResources(options.resources);
  }

  /** `status.build` of a resource; undefined: no build is requested. */
  statusOf(resource: ObservedResource): BuildStatus | undefined {
    return this.#judge(resource)?.status;
  }

  /** Reconciles all builds. */
  async reconcile(signal: AbortSignal): Promise<ReconcileOutcome> {
    const { caches, config, clock, changed } = this.#options;
    const now = clock.date();
    const wanted = this.#wanted();
    const { actions, recheckAt } = decideBuilds({
      wanted,
      jobs: caches.jobs(),
      pods: caches.pods(),
      resourceOf: (job) => this.#resources.of(buildKeyOf(job)),
      limits: config.limits,
      now,
    });
    for (const action of actions) await this.#act(action, signal);
    this.#forget(wanted);
    // The caches now contain the results of the actions.
    for (const { key, resource } of actions.length === 0 ? wanted : this.#wanted()) {
      const reported = canonicalJson(resource.status?.build ?? null);
      if (reported !== canonicalJson(this.statusOf(resource) ?? null)) changed(key);
    }
    const time = reconcileTime(clock);
    const refusedUntil = [...this.#refusals.values()].map(({ until }) => asDate(until, time));
    const next = Math.min(recheckAt ?? Number.POSITIVE_INFINITY, ...refusedUntil);
    if (!Number.isFinite(next)) return { kind: 'settled' };
    return { kind: 'requeue', afterMs: Math.max(MIN_PAUSE_MS, next - time.date) };
  }

  #judge(resource: ObservedResource): BuildJudgement | undefined {
    const { caches, config, clock } = this.#options;
    const { build } = resource.spec;
    if (build === undefined) return undefined;
    const key = keyOf(resource);
    const standing = this.#refusals.get(key);
    const refusal = standing?.revisionId === build.revisionId ? standing : null;
    const observed = { jobs: caches.jobsOf(key), pods: caches.podsOf(key), refusal };
    const judged = judgeBuild(resource, build, observed, config.timeoutSeconds, clock.date());
    const judgement = withoutPrivateHost(judged, build, config);
    if (refusal === null || judgement.start === null) return judgement;
    const notBefore = Math.max(judgement.start.notBefore, asDate(refusal.until, reconcileTime(clock)));
    return { ...judgement, start: { ...judgement.start, notBefore } };
  }

  #wanted(): WantedBuild[] {
    return this.#resources.all().flatMap((resource): WantedBuild[] => {
      const { build } = resource.spec;
      const judgement = this.#judge(resource);
      if (build === undefined || judgement === undefined) return [];
      return [{ key: keyOf(resource), resource, build, judgement }];
    });
  }

  #forget(wanted: readonly WantedBuild[]): void {
    const asked = new Map(wanted.map(({ key, build }) => [key, build.revisionId]));
    const now = this.#options.clock.now();
    for (const [key, { revisionId, until }] of this.#refusals) {
      if (asked.get(key) !== revisionId || until <= now - REFUSED_PAUSE_MS) this.#refusals.delete(key);
    }
  }

  async #act(action: BuildAction, signal: AbortSignal): Promise<void> {
    if (!this.#options.mayAct())
      throw new Error('failed to act on builds: this operator is no longer the leader');
    if (action.kind === 'delete') await this.#delete(action, signal);
    else await this.#create(action, signal);
  }

  async #delete({ job, reason }: BuildAction & { kind: 'delete' }, signal: AbortSignal): Promise<void> {
    const { client, caches, logger } = this.#options;
    const { namespace, name, uid, labels = {} } = job.metadata;
    try {
      const options = {
        ...(uid === undefined ? {} : { uid }),
        propagationPolicy: 'Background' as const,
        signal,
      };
      await client.delete(
        RESOURCES.Job,
        { ...(namespace === undefined ? {} : { namespace }), name },
        options,
      );
      caches.noteDelete(job);
      const [deploymentId, revisionId] = [labels[LABELS.deploymentId], labels[LABELS.revisionId]];
      logger.info({ deploymentId, revisionId, job: name, reason }, 'ended a build');
    } catch (error) {
      if (!isKubeError(error, 'not_found', 'conflict')) throw error;
    }
  }

  async #create({ wanted, attempt }: BuildAction & { kind: 'create' }, signal: AbortSignal): Promise<void> {
    const { client, config, caches, logger } = this.#options;
    const { key, resource, build } = wanted;
    if (!(await this.#isStillWanted(wanted, signal))) return;
    const job = buildJob(resource, build, config, attempt);
    try {
      caches.noteWrite(await client.create(job, { signal }));
      this.#refusals.delete(key);
      const { deploymentId, recordGeneration: generation } = resource.spec;
      const { revisionId } = build;
      const change = { deploymentId, revisionId, generation, resource: key };
      logger.info({ ...change, job: job.metadata.name, attempt }, 'began a build');
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      const refusal = await this.#refusalOf(error, wanted, job, signal);
      if (refusal === null) return;
      const until = this.#options.clock.now() + REFUSED_PAUSE_MS;
      this.#refusals.set(key, { ...refusal, revisionId: build.revisionId, until });
      logger.warn(
        { resource: key, err: refusal.message },
        'failed to start a build; next: none, it is retried',
      );
    }
  }

  /**
   * Checks the custom resource at the API server. A replica that was suspended must not start a build that is no
   * longer requested.
   */
  async #isStillWanted({ resource, build }: WantedBuild, signal: AbortSignal): Promise<boolean> {
    const live = await this.#options.client.find<UntypedObject>(
      RESOURCES.ManagedDeployment,
      resource.metadata,
      {
        signal,
      },
    );
    const spec = live?.['spec'] as { build?: { revisionId?: string } } | undefined;
    return (
      live !== undefined &&
      live.metadata.uid === resource.metadata.uid &&
      live.metadata.deletionTimestamp === undefined &&
      spec?.build?.revisionId === build.revisionId &&
      !isPaused(live)
    );
  }

  /**
   * The reason of a rejected creation; null: the Job exists, and the cache is behind.
   * @throws KubeError if a retry may help
   */
  async #refusalOf(
    error: KubeError,
    { resource, build }: WantedBuild,
    job: { metadata: { name: string; namespace: string } },
    signal: AbortSignal,
  ): Promise<JobRefusal | null> {
    const { name, namespace } = job.metadata;
    if (error.kind === 'already_exists') {
      const found = await this.#options.client.find<ObservedJob>(
        RESOURCES.Job,
        { name, namespace },
        { signal },
      );
      if (found === undefined || isOfBuild(found, resource, build)) return null;
      const message = `a Job ${name} exists in the namespace ${namespace} that Berth did not create`;
      return { reason: 'Conflict', message };
    }
    const final: readonly KubeError['kind'][] = ['forbidden', 'invalid', 'bad_request', 'not_found'];
    if (!final.includes(error.kind)) throw error;
    return { reason: 'Refused', message: `the cluster rejected the Job of the build: ${error.message}` };
  }
}

const MIN_PAUSE_MS = 100;
