import { buildFailureSchema } from '../../../contract/resource/build.ts';
import { type BuildFailureReason, type BuildStep, buildFailureReason } from '../../../domain/builds/build.ts';
import { maskCredentials, outputTail } from '../../../domain/redaction/printed-credentials.ts';
import type { ObservedContainer, ObservedPod } from '../observed.ts';
import { imageFailureReason } from './image-failure.ts';
import { stepsOf } from './observed-build.ts';

/** Reads the failure of a build from its pod. */

export interface BuildStepFailure {
  readonly step?: BuildStep | undefined;
  readonly reason: BuildFailureReason;
  readonly message: string;
  /** Time of the failure, if the cluster reports it. */
  readonly at?: string | undefined;
}

type Terminated = NonNullable<NonNullable<ObservedContainer['state']>['terminated']> & {
  finishedAt?: string;
};

/** Eviction messages of pods that exceed their limits, as opposed to node pressure. */
const TOO_LARGE =
  /exceed(s|ed) (the |its )?(total |local )*(limit|ephemeral)|exceeded its local ephemeral storage/i;
/** Reasons of pod failures that no step caused. */
const POD_LOST =
  /^(Evicted|NodeLost|NodeShutdown|Shutdown|Terminated|Preempting|NodeAffinity|OutOf\w+|UnexpectedAdmissionError)$/;
/** Reasons of container failures without an observed exit, for example after a node restart, or before the start. */
const CONTAINER_LOST = /^(ContainerStatusUnknown|Unknown|StartError|ContainerCannotRun)$/;

/** The failure of the whole pod, independent of its containers; null: none. */
export function podFailure({ metadata, status }: ObservedPod): BuildStepFailure | null {
  const { reason = '', message = '' } = status ?? {};
  if (reason === 'Evicted' && TOO_LARGE.test(message))
    return { reason: 'BuildTooLarge', message: outputTail(message) };
  const disruption = status?.conditions?.find(
    ({ type, status: holds }) => type === 'DisruptionTarget' && holds === 'True',
  );
  if (disruption !== undefined) return lost(disruption.message ?? disruption.reason ?? 'it was evicted');
  if (POD_LOST.test(reason)) return lost(message === '' ? reason : `${reason}: ${message}`);
  return metadata.deletionTimestamp === undefined ? null : lost('it was deleted');
}

/** A failure that the repository did not cause. */
export function lost(why: string): BuildStepFailure {
  return { reason: 'BuildLost', message: `the pod of the build was lost: ${outputTail(why)}` };
}

/** The failure of the first failed step; null: no step and no pod has failed. */
export function stepFailure(pod: ObservedPod): BuildStepFailure | null {
  for (const { step, container } of stepsOf(pod)) {
    const terminated = container.state?.terminated as Terminated | undefined;
    if (terminated !== undefined && terminated.exitCode !== 0) return failureOf(step, terminated);
  }
  const { phase, reason = '', message = '' } = pod.status ?? {};
  if (phase !== 'Failed') return null;
  return lost([reason, message].filter((text) => text !== '').join(': ') || 'it failed without a reason');
}

function failureOf(step: BuildStep, terminated: Terminated): BuildStepFailure {
  const { exitCode, reason, message = '', finishedAt: at } = terminated;
  if (reason === 'OOMKilled') {
    return { step, reason: 'BuildTooLarge', message: `the step ${step} ran out of memory`, at };
  }
  if (reason !== undefined && CONTAINER_LOST.test(reason)) {
    const why = outputTail(message.trim() === '' ? reason : `${reason}: ${message.trim()}`);
    return { step, reason: 'BuildLost', message: `the step ${step} was lost: ${why}`, at };
  }
  const reported = reportedFailure(message);
  if (reported !== null) return { step, ...reported, at };
  const why = message.trim() === '' ? '' : `: ${outputTail(message.trim())}`;
  const ended = `the step ${step} ended with exit code ${exitCode}${why}`;
  return { step, reason: step === 'image' ? imageFailureReason(message) : 'BuildFailed', message: ended, at };
}

/** The failure that one of Berth's own steps reports; null: the message contains no report of a step. */
function reportedFailure(message: string): { reason: BuildFailureReason; message: string } | null {
  try {
    const { reason, message: text } = buildFailureSchema.parse(JSON.parse(message));
    return { reason: buildFailureReason(reason), message: maskCredentials(text) };
  } catch {
    return null;
  }
}
