import {
  type BuildResult,
  type BuildSpec,
  type BuildStatus,
  buildResultSchema,
  hasBuildEnded,
} from '../../../contract/resource/build.ts';
import { buildName, formerBuildName } from '../../../contract/resource/names.ts';
import { type BuildFailureReason, type BuildStep, PASSING_FAILURES } from '../../../domain/builds/build.ts';
import { endOfJob, type ObservedPod, type ObservedResource } from '../observed.ts';
import {
  attemptOf,
  isOfBuild,
  type ObservedBuilds,
  type ObservedJob,
  podOf,
  stepsOf,
} from './observed-build.ts';
import { slowStart, slowStartRecheckAt } from './slow-start.ts';
import { type BuildStepFailure, lost, podFailure, stepFailure } from './step-failure.ts';

/** Maximum number of attempts for failures that may be temporary. */
export const MAX_BUILD_ATTEMPTS = 3;
/** Pauses before the second and third attempt. The pauses are long enough for the restart of a registry. */
const PAUSES_MS = [10_000, 60_000];
/** Wait for the event of the pod when the Job has ended and its pod is not cached. */
const LAG_MS = 5_000;

const LOST_REASON: BuildFailureReason = 'BuildLost';

export interface BuildJudgement {
  readonly status: BuildStatus;
  /** The next attempt and its earliest start (ms since the epoch); null: none. */
  readonly start: { readonly attempt: number; readonly notBefore: number } | null;
  /** When to reconcile again without an event (ms since the epoch); null: an event will come. */
  readonly recheckAt: number | null;
}

/**
 * Judges the state of a requested build. Pure. The state is derived from the objects in the cluster, and from the
 * former status for objects that are gone. A final status does not change.
 */
export function judgeBuild(
  resource: ObservedResource,
  build: BuildSpec,
  { jobs, pods, refusal }: ObservedBuilds,
  timeoutSeconds: number,
  now: Date,
): BuildJudgement {
  const { revisionId, number } = build;
  const about = { revisionId, number };
  const known = resource.status?.build;
  const before = known?.revisionId === revisionId ? known : undefined;
  if (before !== undefined && hasBuildEnded(before)) return settled(before);
  const names = [buildName, formerBuildName].map((nameOf) => nameOf(resource.metadata, revisionId));
  if (!names.includes(build.secretName)) {
    const message = 'spec.build.secretName is not the name of the Secret of this build';
    return settled({ ...about, phase: 'Waiting', reason: 'Refused', message });
  }
  const ofBuild = jobs.filter((job) => isOfBuild(job, resource, build));
  const attempt = Math.max(1, before?.attempt ?? 1, ...ofBuild.map(attemptOf));
  const job = ofBuild.find((candidate) => attemptOf(candidate) === attempt);
  const secretName = buildName(resource.metadata, revisionId);
  const input: Attempt = { about, attempt, build, secretName, before, timeoutSeconds, now };
  if (job !== undefined) return judgeJob(job, podOf(job, pods), input);
  // The Job existed and is gone, so it was deleted.
  if (before?.phase === 'Running' && (before.attempt ?? 1) === attempt) {
    return failed(lost('its Job was deleted'), input, null);
  }
  const former = ofBuild.find((candidate) => attemptOf(candidate) === attempt - 1);
  const why = refusal ?? { reason: before?.reason, message: before?.message };
  return waiting(input, why, former === undefined ? 0 : endedAt(former, now));
}

interface Attempt {
  readonly about: Pick<BuildStatus, 'revisionId' | 'number'>;
  readonly attempt: number;
  readonly build: BuildSpec;
  /** Secret that the build pods mount. */
  readonly secretName: string;
  readonly before: BuildStatus | undefined;
  readonly timeoutSeconds: number;
  readonly now: Date;
}

const settled = (status: BuildStatus): BuildJudgement => ({ status, start: null, recheckAt: null });

function waiting(
  { about, attempt }: Attempt,
  why: { reason?: string | undefined; message?: string | undefined },
  formerEndedAt: number,
): BuildJudgement {
  const { reason, message } = why;
  const pause = attempt > 1 ? (PAUSES_MS[attempt - 2] ?? 0) : 0;
  return {
    status: {
      ...about,
      phase: 'Waiting',
      attempt,
      ...(reason === undefined ? {} : { reason }),
      ...(message === undefined ? {} : { message }),
    },
    start: { attempt, notBefore: formerEndedAt + pause },
    recheckAt: null,
  };
}

function endedAt(job: ObservedJob, now: Date): number {
  const at = Date.parse(endOfJob(job)?.lastTransitionTime ?? '');
  return Number.isNaN(at) ? now.getTime() : at;
}

function judgeJob(job: ObservedJob, pod: ObservedPod | undefined, input: Attempt): BuildJudgement {
  const end = endOfJob(job);
  const result = pod === undefined ? null : resultOf(pod, input.build);
  if (result !== null) return succeeded(job, result, input);
  if (end?.type === 'Failed' && end.reason === 'DeadlineExceeded') {
    return failed(timedOut(input, end.lastTransitionTime), input, job);
  }
  // The end of the Job will show why its pod is being deleted.
  if (end === null && pod?.metadata.deletionTimestamp !== undefined) return running(job, pod, input);
  const failure = pod === undefined ? null : (podFailure(pod) ?? stepFailure(pod));
  if (failure !== null) return failed(failure, input, job);
  if (end === null) return begins(job, pod, input);
  const lag = endedAt(job, input.now) + LAG_MS;
  if (lag > input.now.getTime()) return { ...running(job, pod, input), recheckAt: lag };
  // The image may have been built and pushed, but its digest is lost.
  const why = end.type === 'Complete' ? 'it has ended without a result' : 'it is gone';
  return failed(lost(why), input, job);
}

/** Judges a running or starting Job. A build that does not start in time fails. */
function begins(job: ObservedJob, pod: ObservedPod | undefined, input: Attempt): BuildJudgement {
  const now = input.now.getTime();
  const slow = slowStart(job, pod, input.secretName, now);
  if (slow?.lost === true) return failed(lost(slow.message), input, job);
  const { status, start } = running(job, pod, input);
  const recheckAt = slowStartRecheckAt(job, pod, now);
  if (slow === null || status.message !== undefined) return { status, start, recheckAt };
  // The listener restores the Secret when the status has this reason.
  const reason = slow.lacksVolumes ? { reason: LOST_REASON } : {};
  return { status: { ...status, ...reason, message: slow.message }, start, recheckAt };
}

/** null: the build has no complete result. That of a repository has a commit. */
function resultOf(pod: ObservedPod, { repoUrl }: BuildSpec): BuildResult | null {
  const { container } = stepsOf(pod).find(({ step }) => step === 'result') ?? {};
  const { terminated } = container?.state ?? {};
  if (terminated?.exitCode !== 0) return null;
  try {
    const result = buildResultSchema.parse(JSON.parse(terminated.message ?? ''));
    return repoUrl !== undefined && result.commit === undefined ? null : result;
  } catch {
    return null;
  }
}

function begun(job: ObservedJob | null, { about, attempt, before }: Attempt): Omit<BuildStatus, 'phase'> {
  const startedAt = job?.status?.startTime ?? job?.metadata.creationTimestamp ?? before?.startTime;
  const name = job?.metadata.name ?? before?.job;
  return {
    ...about,
    attempt,
    ...(name === undefined ? {} : { job: name }),
    ...(startedAt === undefined ? {} : { startTime: startedAt }),
  };
}

function succeeded(job: ObservedJob, { digest, ...result }: BuildResult, input: Attempt): BuildJudgement {
  const image = `${input.build.repository}@${digest}`;
  const completionTime = finishOf(endOfJob(job)?.lastTransitionTime, input);
  return settled({ ...begun(job, input), phase: 'Succeeded', completionTime, image, ...result });
}

/** The time at which a build ended. This time does not change later. */
function finishOf(at: string | undefined, { now }: Attempt): string {
  return at ?? now.toISOString();
}

function running(job: ObservedJob, pod: ObservedPod | undefined, input: Attempt): BuildJudgement {
  // A deleted pod no longer shows its step. The former step is still useful.
  const former = input.before?.attempt === input.attempt ? input.before.step : undefined;
  const current = pod === undefined ? former : (currentStep(pod) ?? former);
  const message = pod === undefined ? undefined : trouble(pod);
  return settled({
    ...begun(job, input),
    phase: 'Running',
    ...(current === undefined ? {} : { step: current }),
    ...(message === undefined ? {} : { message }),
  });
}

/** The first unfinished step of a scheduled pod. */
function currentStep(pod: ObservedPod): BuildStep | undefined {
  return stepsOf(pod).find(({ container }) => container.state?.terminated === undefined)?.step;
}

/** Reasons of an ordinary start. */
const ORDINARY = ['PodInitializing', 'ContainerCreating'];

/** Why a build does not progress, if the cluster reports it: no node fits, or an image cannot be pulled. */
function trouble(pod: ObservedPod): string | undefined {
  const unplaced = pod.status?.conditions?.find(
    ({ type, status, reason }) => type === 'PodScheduled' && status === 'False' && reason === 'Unschedulable',
  );
  if (unplaced !== undefined) return `no node takes the pod of the build: ${unplaced.message ?? ''}`;
  for (const { step, container } of stepsOf(pod)) {
    const { reason = '', message = '' } = container.state?.waiting ?? {};
    if (reason !== '' && !ORDINARY.includes(reason))
      return `the step ${step} does not start: ${reason}: ${message}`;
  }
  return undefined;
}

/** The Job controller has deleted the pod, so the step comes from the former status. */
function timedOut({ before, timeoutSeconds }: Attempt, at: string | undefined): BuildStepFailure {
  const { step, message } = before ?? {};
  const where = step === undefined ? '' : `, in the step ${step}`;
  const why = message === undefined ? '' : `: ${message}`;
  const text = `the build took longer than ${timeoutSeconds} s${where}${why}`;
  return { ...(step === undefined ? {} : { step }), reason: 'BuildTimeout', message: text, at };
}

/** The end of an attempt. Failures that may be temporary are retried a few times. */
function failed(failure: BuildStepFailure, input: Attempt, job: ObservedJob | null): BuildJudgement {
  const { attempt, now } = input;
  const { step, reason, message } = failure;
  const passes = PASSING_FAILURES.includes(reason);
  const at = finishOf(failure.at ?? (job === null ? undefined : endOfJob(job)?.lastTransitionTime), input);
  if (passes && attempt < MAX_BUILD_ATTEMPTS) {
    const why = { reason, message: `attempt ${attempt} of ${MAX_BUILD_ATTEMPTS} failed: ${message}` };
    return waiting(
      { ...input, attempt: attempt + 1 },
      why,
      job === null ? 0 : Math.min(Date.parse(at), now.getTime()),
    );
  }
  return settled({
    ...begun(job, input),
    phase: 'Failed',
    ...(step === undefined ? {} : { step }),
    completionTime: at,
    reason,
    message: passes ? `${message}; tried ${MAX_BUILD_ATTEMPTS} times` : message,
  });
}
