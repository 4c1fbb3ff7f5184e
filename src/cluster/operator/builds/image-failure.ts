import type { BuildFailureReason } from '../../../domain/builds/build.ts';

/** Why BuildKit has failed, read off what `buildctl` printed last. */

/** What stands around every error of its. */
const WRAPPED =
  /^error: (?:(?:failed to (?:solve|build|receive status)|rpc error: code = Unknown desc =):? )*/i;
/** Commands, paths and addresses, as Go quotes them: whoever wrote the Dockerfile has chosen the words in them. */
const QUOTED = /"(?:[^"\\]|\\.)*"/g;

/** The daemon went away, or was never reached. */
const DAEMON_LOST = /^((rpc error: code = )?Unavailable\b|(failed to list|listing) workers\b)/i;
/** What buildctl-daemonless.sh says of a daemon that did not start; all that RUN prints has a number before it. */
const NEVER_STARTED =
  /^(could not connect to \S+ after \d+ trials|={10} log ={10})$|^\[rootlesskit:[a-z ]+\] error: /m;
/** The push itself, and the layers of the cache. */
const PUSH = /^(failed to push |error writing [\w ]+: )/i;
/** Of a base image. */
const PULL =
  /^(\S+: )?(failed to (resolve source metadata|authorize|fetch (anonymous|oauth) token|copy|do request)\b)|^failed to (load|compute) cache key: failed to (copy|do request|authorize)\b/i;

/** Answers of a registry, or of who gives the tokens for it, that may be others a moment later. */
const OVERLOADED = /: (5\d\d|408|429)\b|toomanyrequests/i;
const NO_ANSWER =
  /connection (refused|reset|timed out)|no route to host|network is unreachable|server misbehaving|name resolution|i\/o timeout|TLS handshake timeout|deadline exceeded|Client\.Timeout|\bEOF\b|broken pipe|closed network connection|server sent GOAWAY|connection lost/i;
/** A registry that lost, or took twice, what is being sent to it: image and cache may hold the same layer. */
const UPLOAD_LOST = /provided digest did not match uploaded content|blob (upload )?unknown/i;
const NO_SUCH_HOST = /no such host/i;
const DENIED = /: 40[13]\b|denied|unauthorized|insufficient_scope|authorization failed/i;

/**
 * The last error says why, and may be several lines: a registry that names two things has each on a line of its own. What a RUN step could not reach is the Dockerfile's matter, what the push or the pull of a base
 * image could not reach is not. A host that does not exist is the platform's mistake where it is the registry to push
 * to, and passes perhaps; of a base image it is one of the Dockerfile.
 */
export function imageFailureReason(log: string): BuildFailureReason {
  if (NEVER_STARTED.test(log)) return 'BuildLost';
  const lines = log.trim().split('\n');
  const last = lines.findLastIndex((text) => /^error: /i.test(text));
  const error = last < 0 ? '' : lines.slice(last).join('\n');
  const told = error.replace(QUOTED, '""').replace(WRAPPED, '');
  if (DAEMON_LOST.test(told)) return 'BuildLost';
  const hasNoAnswer = OVERLOADED.test(told) || NO_ANSWER.test(told);
  if (PUSH.test(told)) {
    if (hasNoAnswer || NO_SUCH_HOST.test(told) || UPLOAD_LOST.test(told)) return 'RegistryUnavailable';
    return DENIED.test(told) ? 'RegistryRefused' : 'BuildFailed';
  }
  return PULL.test(told) && hasNoAnswer ? 'RegistryUnavailable' : 'BuildFailed';
}
