import type { BuildFailureReason } from '../../../domain/builds/build.ts';

/** Classifies a BuildKit failure by the last output of `buildctl`. */

/** Prefixes of all errors. */
const WRAPPED =
  /^error: (?:(?:failed to (?:solve|build|receive status)|rpc error: code = Unknown desc =):? )*/i;
/** Commands, paths and addresses, quoted in the format of Go, whose text the author of the Dockerfile chooses. */
const QUOTED = /"(?:[^"\\]|\\.)*"/g;

/** The daemon stopped, or was never reachable. */
const DAEMON_LOST = /^((rpc error: code = )?Unavailable\b|(failed to list|listing) workers\b)/i;
/**
 * Output of buildctl-daemonless.sh if the daemon did not start. Output of RUN steps is prefixed with a number.
 */
const NEVER_STARTED =
  /^(could not connect to \S+ after \d+ trials|={10} log ={10})$|^\[rootlesskit:[a-z ]+\] error: /m;
/** Errors of the push, including cache layers. */
const PUSH = /^(failed to push |error writing [\w ]+: )/i;
/** Errors of pulling a base image. */
const PULL =
  /^(\S+: )?(failed to (resolve source metadata|authorize|fetch (anonymous|oauth) token|copy|do request)\b)|^failed to (load|compute) cache key: failed to (copy|do request|authorize)\b/i;

/** Responses of a registry or its token server that may differ on a retry. */
const OVERLOADED = /: (5\d\d|408|429)\b|toomanyrequests/i;
const NO_ANSWER =
  /connection (refused|reset|timed out)|no route to host|network is unreachable|server misbehaving|name resolution|i\/o timeout|TLS handshake timeout|deadline exceeded|Client\.Timeout|\bEOF\b|broken pipe|closed network connection|server sent GOAWAY|connection lost/i;
/** Errors of a lost upload, or of two uploads of one layer, because image and cache may contain the same layer. */
const UPLOAD_LOST = /provided digest did not match uploaded content|blob (upload )?unknown/i;
const NO_SUCH_HOST = /no such host/i;
const DENIED = /: 40[13]\b|denied|unauthorized|insufficient_scope|authorization failed/i;

/**
 * Reason of a failure, from the last error. An error may have several lines, because a registry reports each of several
 * problems in a line. A host that a RUN step cannot reach is an error of the Dockerfile. A host that the push or the
 * pull of a base image cannot reach is a platform error. An unknown host of the registry to push to is also a platform
 * error, possibly temporary. An unknown host of a base image is an error of the Dockerfile.
 */
export function imageFailureReason(log: string): BuildFailureReason {
  if (NEVER_STARTED.test(log)) return 'BuildLost';
  const lines = log.trim().split('\n');
  const last = lines.findLastIndex((text) => /^error: /i.test(text));
  const error = last < 0 ? '' : lines.slice(last).join('\n');
  const detail = error.replace(QUOTED, '""').replace(WRAPPED, '');
  if (DAEMON_LOST.test(detail)) return 'BuildLost';
  const hasNoAnswer = OVERLOADED.test(detail) || NO_ANSWER.test(detail);
  if (PUSH.test(detail)) {
    if (hasNoAnswer || NO_SUCH_HOST.test(detail) || UPLOAD_LOST.test(detail)) return 'RegistryUnavailable';
    return DENIED.test(detail) ? 'RegistryRefused' : 'BuildFailed';
  }
  return PULL.test(detail) && hasNoAnswer ? 'RegistryUnavailable' : 'BuildFailed';
}
