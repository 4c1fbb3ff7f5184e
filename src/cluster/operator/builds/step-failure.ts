import { buildFailureSchema } from '../../../contract/resource/build.ts';
import { type BuildFailureReason, type BuildStep, buildFailureReason } from '../../../domain/builds/build.ts';
import { outputTail, withoutCredentials } from '../access/masking.ts';
import type { ObservedContainer, ObservedPod } from '../observed.ts';
import { imageFailureReason } from './image-failure.ts';
import { stepsOf } from './observed-build.ts';

/** How a build fails, read off its pod. */

export interface StepFailure {
  readonly step?: BuildStep | undefined;
  readonly reason: BuildFailureReason;
  readonly message: string;
  /** When, as the cluster says; undefined: it does not. */
  readonly at?: string | undefined;
}

type Terminated = NonNullable<NonNullable<ObservedContainer['state']>['terminated']> & {
  finishedAt?: string;
};

/** The kubelet ends pods that outgrow what they may have, and those that others want the place of. */
const TOO_LARGE =
  /exceed(s|ed) (the |its )?(total |local )*(limit|ephemeral)|exceeded its local ephemeral storage/i;
/** Ends of a pod that no step of it has caused; `Builder…` are the local builder's (docs/builds.md). */
const POD_LOST =
  /^(Evicted|NodeLost|NodeShutdown|Shutdown|Terminated|Preempting|NodeAffinity|OutOf\w+|UnexpectedAdmissionError|Builder\w+|UnsupportedPod)$/;
/** Ends of a container that nobody has seen, as after the restart of its node, or that came before its beginning. */
const CONTAINER_LOST = /^(ContainerStatusUnknown|Unknown|StartError|ContainerCannotRun)$/;

/** The failure of the whole pod, whatever its containers say; null: it has none of its own. */
export function podFailure({ metadata, status }: ObservedPod): StepFailure | null {
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

/** What nothing in the repository has caused. */
export function lost(why: string): StepFailure {
  return { reason: 'BuildLost', message: `the pod of the build was lost: ${outputTail(why)}` };
}

/** The first step that has ended with an error; null: none has, and the pod has not failed either. */
export function stepFailure(pod: ObservedPod): StepFailure | null {
  for (const { step, container } of stepsOf(pod)) {
    const terminated = container.state?.terminated as Terminated | undefined;
    if (terminated !== undefined && terminated.exitCode !== 0) return failureOf(step, terminated);
  }
  const { phase, reason = '', message = '' } = pod.status ?? {};
  if (phase !== 'Failed') return null;
  return lost([reason, message].filter((text) => text !== '').join(': ') || 'it has failed without a word');
}

function failureOf(step: BuildStep, terminated: Terminated): StepFailure {
  const { exitCode, reason, message = '', finishedAt: at } = terminated;
  if (reason === 'OOMKilled') {
    return { step, reason: 'BuildTooLarge', message: `the step ${step} ran out of memory`, at };
  }
  if (reason !== undefined && CONTAINER_LOST.test(reason)) {
    const why = outputTail(message.trim() === '' ? reason : `${reason}: ${message.trim()}`);
    return { step, reason: 'BuildLost', message: `the step ${step} was lost: ${why}`, at };
  }
  const told = toldBy(message);
  if (told !== null) return { step, ...told, at };
  const why = message.trim() === '' ? '' : `: ${outputTail(message.trim())}`;
  const ended = `the step ${step} ended with exit code ${exitCode}${why}`;
  return { step, reason: step === 'image' ? imageFailureReason(message) : 'BuildFailed', message: ended, at };
}

/** What a step of Berth's own says of its failure; null: it said nothing that can be read. */
function toldBy(message: string): { reason: BuildFailureReason; message: string } | null {
  try {
    const { reason, message: text } = buildFailureSchema.parse(JSON.parse(message));
    return { reason: buildFailureReason(reason), message: withoutCredentials(text) };
  } catch {
    return null;
  }
}
