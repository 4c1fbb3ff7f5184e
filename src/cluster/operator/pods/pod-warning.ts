import { WITHHELD_OUTPUT } from '../observe/cached-fields.ts';
import type { Observed, ObservedPod, WarningEvent } from '../observed.ts';

/** The client of the kubelet may combine similar Events. */
const COMBINED = String.raw`(?:\(combined from similar events\): )?`;
/** Answers of a health check that the kubelet writes. All others are output of a command in the container. */
const OF_KUBELET = new RegExp(
  `^${COMBINED}\\S+ probe (?:failed|errored)[^:]*: (?:HTTP probe|dial tcp|Get ")`,
);
const OF_COMMAND = new RegExp(`^(${COMBINED}\\S+ probe (?:failed|errored)[^:]*):`);

/** The message without output of the container. */
function withoutOutput(message: string): string {
  const [, what] = OF_COMMAND.exec(message) ?? [];
  return what === undefined || OF_KUBELET.test(message) ? message : `${what}; ${WITHHELD_OUTPUT}`;
}

/** The warnings about a pod. They contain no output of the pod if it must not be shown. */
export function warningOf({ warnings }: Observed, pod: ObservedPod): WarningEvent | undefined {
  const event = warnings?.get(pod.metadata.uid ?? '');
  if (event === undefined || !pod.withheld) return event;
  return {
    ...event,
    message: withoutOutput(event.message),
    ...(event.checks && {
      checks: event.checks.map((check) => ({ ...check, message: withoutOutput(check.message) })),
    }),
  };
}
