import { boundedRetryAfter } from '../../../domain/core/backoff.ts';

/** What went wrong, in the terms in which a caller decides what to do next. */
export type KubeErrorKind =
  | 'not_found'
  /** 404 that names no object: the kind is not installed, or what answers is no API server. */
  | 'unknown_resource'
  | 'conflict'
  | 'already_exists'
  | 'forbidden'
  | 'unauthorized'
  | 'invalid'
  | 'bad_request'
  | 'gone'
  | 'too_many_requests'
  | 'server'
  | 'timeout'
  | 'network'
  | 'aborted';

/** One entry of `Status.details.causes`: which field, and why; `reason` e.g. `FieldValueInvalid`, `NamespaceTerminating`. */
export interface KubeErrorCause {
  field: string;
  message: string;
  reason?: string;
}

/** The body of an answer that is no success (and of ERROR events of a watch). */
export interface Status {
  kind?: string;
  status?: string;
  code?: number;
  reason?: string;
  message?: string;
  details?: {
    name?: string;
    uid?: string;
    kind?: string;
    retryAfterSeconds?: number;
    causes?: { field?: string; message?: string; reason?: string }[];
  };
}

export interface KubeErrorFields {
  kind: KubeErrorKind;
  message: string;
  /** The server's words, where `message` leaves them out. */
  said?: string | undefined;
  /** What was tried, without a word of the server's, which may quote what was sent: `apply Deployment a/b`. */
  action?: string | undefined;
  /** Of what, by its plural: `deployments`. */
  resource?: string | undefined;
  /** HTTP status, where there was an answer. */
  status?: number;
  /** `reason` of the Status body, e.g. `AlreadyExists`. */
  reason?: string;
  causes?: KubeErrorCause[];
  /** How long the server asked to be left alone, in milliseconds. */
  retryAfterMs?: number | undefined;
  /** True when the server surely has not acted on the request: it may be sent again whatever it was. */
  notProcessed?: boolean;
  cause?: unknown;
}

const RETRYABLE: ReadonlySet<KubeErrorKind> = new Set([
  'unknown_resource',
  'forbidden',
  'unauthorized',
  'gone',
  'too_many_requests',
  'server',
  'timeout',
  'network',
]);

/**
 * Failure of a call to the Kubernetes API.
 *
 * `retryable`: the same call may succeed later: the server is back, rights or quota were granted, the kind installed.
 * `conflict`, `already_exists` and `not_found` are not: look at the object again first. `invalid` and `bad_request` are
 * not: the object has to change.
 */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  readonly kind: KubeErrorKind;
  /** Of the call; undefined: there was no answer. */
  readonly action: string | undefined;
  readonly resource: string | undefined;
  readonly retryable: boolean;
  readonly status: number | undefined;
  readonly reason: string | undefined;
  readonly causes: readonly KubeErrorCause[];
  readonly retryAfterMs: number | undefined;
  readonly notProcessed: boolean;
  /** Private, so that no logger finds it. */
  readonly #said: string;

  constructor(fields: KubeErrorFields) {
    super(fields.message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.kind = fields.kind;
    this.action = fields.action;
    this.resource = fields.resource;
    this.retryable = RETRYABLE.has(fields.kind);
    this.status = fields.status;
    this.reason = fields.reason;
    this.causes = fields.causes ?? [];
    this.retryAfterMs = boundedRetryAfter(fields.retryAfterMs);
    this.notProcessed = fields.notProcessed ?? false;
    this.#said = fields.said ?? fields.message;
  }

  /** What the server said, for decisions alone: it may quote what was sent, which `message` does not. */
  said(): string {
    return this.#said;
  }
}

/** True when `error` is a {@link KubeError} of one of the kinds. */
export function isKubeError(error: unknown, ...kinds: KubeErrorKind[]): error is KubeError {
  return error instanceof KubeError && (kinds.length === 0 || kinds.includes(error.kind));
}

const KIND_BY_REASON: Readonly<Record<string, KubeErrorKind>> = {
  AlreadyExists: 'already_exists',
  Conflict: 'conflict',
  Expired: 'gone',
  Gone: 'gone',
  NotFound: 'not_found',
  Forbidden: 'forbidden',
  Unauthorized: 'unauthorized',
  Invalid: 'invalid',
  TooManyRequests: 'too_many_requests',
  Timeout: 'server',
  ServerTimeout: 'server',
};

const KIND_BY_STATUS: Readonly<Record<number, KubeErrorKind>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  410: 'gone',
  422: 'invalid',
  429: 'too_many_requests',
};

function kindOf(code: number, { reason, details }: Status): KubeErrorKind {
  if (code === 404 && !details?.name) return 'unknown_resource';
  // How apply says that the object of the uid it was fenced with is gone, and another has taken its name.
  if (code === 422 && details?.causes?.some(({ field }) => field === 'metadata.uid')) return 'conflict';
  const byReason = reason === undefined ? undefined : KIND_BY_REASON[reason];
  if (byReason !== undefined) return byReason;
  return KIND_BY_STATUS[code] ?? (code >= 500 || code < 400 ? 'server' : 'bad_request');
}

/** Texts of the API server itself about a Secret: rights, quotas, what is not there. Whoever denies a request has other ones. */
const OWN_WORDS =
  /^(secrets( "[^"]*")? is forbidden: (User "[^"]*" cannot [a-z]+ resource |exceeded quota: |unable to create new content in namespace )|(namespaces|secrets) "[^"]*" (not found|already exists)$)/;

/** Texts of the chart's policy about what the listener writes: they quote the namespace alone. */
const LISTENER_POLICY =
  /^secrets( "[^"]*")? is forbidden: ValidatingAdmissionPolicy '(berth-listener-writes-[a-z0-9-]+)' with binding '\2' denied request: the listener of Berth may write only to namespaces of tenants, /;

/** What may be told of a confidential call: an admission rule or a webhook may quote the object that it denies. */
function tellable(kind: KubeErrorKind, code: number, { message = '' }: Status): string {
  if (OWN_WORDS.test(message) || LISTENER_POLICY.test(message)) return message;
  if (kind === 'server') return `HTTP ${code}`;
  return kind === 'bad_request' ? 'the server could not read the object' : kind;
}

/** What went wrong with which field decides; what is wrong with it may quote it. */
const withoutText = (cause: KubeErrorCause): KubeErrorCause => ({ ...cause, message: '' });

/**
 * The error for a Status body (of an HTTP answer, or of an ERROR event of a watch).
 * @param action what was tried, e.g. `apply Deployment a/b`; the message becomes "failed to <action>: <server's text>".
 * @param more.confidential the object holds secrets: nothing that may quote it is in the error but for `said()`
 * @param more.retryAfterMs from the Retry-After header; Status.details.retryAfterSeconds stands in for it.
 */
export function statusError(
  action: string,
  code: number,
  status: Status,
  {
    resource,
    retryAfterMs,
    confidential = false,
  }: Pick<KubeErrorFields, 'resource' | 'retryAfterMs'> & {
    readonly confidential?: boolean | undefined;
  } = {},
): KubeError {
  const seconds = status.details?.retryAfterSeconds;
  const kind = kindOf(code, status);
  const said = status.message || status.reason || `HTTP ${code}`;
  const causes = (status.details?.causes ?? []).map((cause) => ({
    field: cause.field ?? '',
    message: cause.message ?? '',
    reason: cause.reason,
  }));
  return new KubeError({
    kind,
    action,
    resource,
    status: code,
    reason: status.reason,
    message: `failed to ${action}: ${confidential ? tellable(kind, code, status) : said}`,
    said,
    causes: confidential ? causes.map(withoutText) : causes,
    retryAfterMs: retryAfterMs ?? (seconds ? seconds * 1000 : undefined),
  });
}

/** Any thrown value as a {@link KubeError}; what is none already counts as a failure of the network. */
export function toKubeError(error: unknown, action = 'call the Kubernetes API'): KubeError {
  if (error instanceof KubeError) return error;
  const cause = error instanceof Error ? error : new Error(String(error));
  if (cause.name === 'AbortError') {
    return new KubeError({ kind: 'aborted', message: `failed to ${action}: aborted`, cause });
  }
  const text = cause.message || (cause as NodeJS.ErrnoException).code || cause.name;
  return new KubeError({ kind: 'network', message: `failed to ${action}: ${text}`, cause });
}

/** Of a write that is sent whole, and of a server-side apply, which is an error of the server's. */
const UNKNOWN_FIELDS: readonly { readonly within: RegExp; readonly field: RegExp }[] = [
  { within: /strict decoding error: (.*)$/s, field: /unknown field "([^"]+)"/g },
  { within: /failed to create typed patch object (.*)$/s, field: /\.(\S+): field not declared in schema/g },
];

/** Paths of the fields that the server refused the object for, as it does not know them: `spec.database.storage`. */
export function unknownFields(error: KubeError): string[] {
  if (!isKubeError(error, 'bad_request', 'server')) return [];
  return UNKNOWN_FIELDS.flatMap(({ within, field }) =>
    [...(within.exec(error.said())?.[1] ?? '').matchAll(field)].flatMap(([, path]) => path ?? []),
  );
}
