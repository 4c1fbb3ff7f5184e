import { type ObservedContainer, UNHEALTHY, type WarningEvent } from '../observed.ts';

/**
 * Removes text that may contain values of referenced Secrets, which neither operator nor hub can mask: output of
 * containers, and errors of their start. The kubelet expands $(NAME) in commands, arguments and subPathExpr, and these
 * errors quote the result. Only text that Kubernetes writes without values is kept.
 */

/** Shown instead of output. */
export const WITHHELD_OUTPUT = 'output not shown, because the pod uses secret_references: see its logs';
/** Shown instead of an error of a start. Such a container has no logs. */
export const WITHHELD_ERROR =
  'error not shown, because the pod uses secret_references, and the error may contain their values: see the pod in the cluster';

type Waiting = NonNullable<NonNullable<ObservedContainer['state']>['waiting']>;

/** The kubelet quotes the expanded subPathExpr of a volume mount. */
const SUB_PATH = /sub-?path/i;

/** Reasons about an image. No variable expands in the name of an image. */
const OF_IMAGE = [
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ImageInspectError',
  'RegistryUnavailable',
  'SignatureValidationFailed',
];
/** Reasons about a step before the container is created. */
const BEFORE_CONTAINER: ReadonlySet<string> = new Set([
  ...OF_IMAGE,
  'CreatePodSandboxError',
  'ConfigPodSandboxError',
  'NetworkNotReady',
]);
const BACK_OFF = /^back-off \S+ restarting failed container=\S+ pod=\S+$/i;

/** The state of a waiting container, without values. */
export function waitingWithoutValues(waiting: Waiting): Waiting {
  return !waiting.message || isSafe(waiting) ? waiting : { ...waiting, message: WITHHELD_ERROR };
}

function isSafe({ reason = '', message = '' }: Waiting): boolean {
  if (BEFORE_CONTAINER.has(reason)) return true;
  if (reason === 'CrashLoopBackOff') return BACK_OFF.test(message);
  // Such a message names the missing object or key.
  return reason === 'CreateContainerConfigError' && !SUB_PATH.test(message);
}

/** The client of the kubelet may combine similar Events. */
const COMBINED = String.raw`(?:\(combined from similar events\): )?`;
const FAILED_CHECK = new RegExp(`^(${COMBINED}\\S+ probe (?:failed|errored)[^:]*): (.*)$`, 's');
/** What the kubelet answers for a check by HTTP or TCP. Other answers may quote the response of the app. */
const STATUS_CODE = /^HTTP probe failed with statuscode: \d+$/;
const NO_ANSWER =
  /^(?:Get "(https?:\/\/[\d.:a-f[\]]+)[^"]*": )?((?:dial|read) tcp [\d.:a-f[\]>-]+: (?:(?:connect|read): [a-z ]+|i\/o timeout)|(?:context deadline exceeded|net\/http: request canceled)[\w ]*(?:\([\w. ]+\))?|EOF)$/;

/** A failed check without output. The path is omitted, because the app can redirect the check to any path. */
function checkWithoutOutput(message: string, hasCommandChecks: boolean): string {
  const [, check, answer = ''] = FAILED_CHECK.exec(message) ?? [];
  if (check === undefined) return WITHHELD_OUTPUT;
  // The command of a check can print the same text as the kubelet.
  if (hasCommandChecks) return `${check}; ${WITHHELD_OUTPUT}`;
  if (STATUS_CODE.test(answer)) return message;
  const [, url, cause] = NO_ANSWER.exec(answer) ?? [];
  if (cause === undefined) return `${check}; ${WITHHELD_OUTPUT}`;
  return url === undefined ? message : `${check}: Get "${url}/…": ${cause}`;
}

/** Failures of a start that quote no values: about images, and about missing objects and keys. */
const SAFE_FAILURES = [
  'Failed to (?:pull|inspect) image ".*',
  `Error: (?:${OF_IMAGE.join('|')})`,
  'Error: (?:secret|configmap) "[^"]*" not found',
  "Error: couldn't find key \\S+ in (?:Secret|ConfigMap) \\S+",
  'Error: container has runAsNonRoot .*',
];
const SAFE_FAILURE = new RegExp(`^${COMBINED}(?:${SAFE_FAILURES.join('|')})$`, 's');
/** Reasons of Events that quote errors of a start. */
const OF_START: ReadonlySet<string> = new Set(['Failed', 'FailedSync']);
/** Reasons of Events that quote output. */
const OF_OUTPUT: ReadonlySet<string> = new Set(['ProbeWarning', 'FailedPostStartHook', 'FailedPreStopHook']);

/**
 * A warning Event about a pod, without values.
 * @param hasCommandChecks whether a health check of the pod is a command
 */
export function warningWithoutValues(event: WarningEvent, hasCommandChecks: boolean): WarningEvent {
  const { reason, message, checks } = event;
  return {
    ...event,
    message: textWithoutValues(reason, message, hasCommandChecks),
    ...(checks && {
      checks: checks.map((check) => ({
        ...check,
        message: checkWithoutOutput(check.message, hasCommandChecks),
      })),
    }),
  };
}

function textWithoutValues(reason: string, message: string, hasCommandChecks: boolean): string {
  if (reason === UNHEALTHY) return checkWithoutOutput(message, hasCommandChecks);
  if (OF_OUTPUT.has(reason)) return WITHHELD_OUTPUT;
  const isOfStart = OF_START.has(reason) && !SAFE_FAILURE.test(message);
  return isOfStart || SUB_PATH.test(message) ? WITHHELD_ERROR : message;
}
