import { boundedRetryAfter } from '../../../domain/core/backoff.ts';

/** Kinds of failures. The kind decides what the caller does next. */
export type KubeErrorKind =
  | 'not_found'
  /** A 404 that names no object: the kind is not installed, or the responder is not an API server. */
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
  /** The response has more bytes than the caller allows. */
  | 'response_too_large'
  | 'aborted';

/**
 * One entry of `Status.details.causes`: a field and its problem; `reason` is e.g. `FieldValueInvalid`,
 * `NamespaceTerminating`.
 */
export interface KubeErrorCause {
  field: string;
  message: string;
  reason?: string;
}

/** The body of an error response, and of the ERROR event of a watch. */
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
  /** The server's text, if `message` does not contain it. */
  said?: string | undefined;
  /** The attempted call, without any text of the server, which may quote the request: `apply Deployment a/b`. */
  action?: string | undefined;
  /** Plural name of the resource: `deployments`. */
  resource?: string | undefined;
  /** HTTP status, if there was a response. */
  status?: number;
  /** `reason` of the Status body, e.g. `AlreadyExists`. */
  reason?: string;
  causes?: KubeErrorCause[];
  /** Delay that the server asked for, in milliseconds. */
  retryAfterMs?: number | undefined;
  /** True when the server certainly did not process the request, so any request may be sent again. */
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
 * A failed call of the Kubernetes API.
 * `retryable`: the same call may succeed later, when the server is back, rights or quota were granted, or the kind
 * was installed.
 * Not retryable: `conflict`, `already_exists` and `not_found` (read the object again first), `invalid` and
 * `bad_request` (the object must change).
 */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  readonly kind: KubeErrorKind;
  /** HTTP status; undefined without a response. */
  readonly action: string | undefined;
  readonly resource: string | undefined;
  readonly retryable: boolean;
  readonly status: number | undefined;
  readonly reason: string | undefined;
  readonly causes: readonly KubeErrorCause[];
  readonly retryAfterMs: number | undefined;
  readonly notProcessed: boolean;
  /** The text is private, so that no logger prints it. */
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

  /** The server's text, only for decisions: unlike `message`, it may quote the request. */
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
  // The response to an apply with a uid precondition when the object is gone and another object has its name.
  if (code === 422 && details?.causes?.some(({ field }) => field === 'metadata.uid')) return 'conflict';
  const byReason = reason === undefined ? undefined : KIND_BY_REASON[reason];
  if (byReason !== undefined) return byReason;
  return KIND_BY_STATUS[code] ?? (code >= 500 || code < 400 ? 'server' : 'bad_request');
}

/**
 * Messages of the API server itself about a Secret: rights, quotas, missing objects. Admission plugins use other
 * texts.
 */
const SERVER_MESSAGES =
  /^(secrets( "[^"]*")? is forbidden: (User "[^"]*" cannot [a-z]+ resource |exceeded quota: |unable to create new content in namespace )|(namespaces|secrets) "[^"]*" (not found|already exists)$)/;

/** Messages of the chart's ValidatingAdmissionPolicy about the listener's writes: they quote only the namespace. */
const LISTENER_POLICY =
  /^secrets( "[^"]*")? is forbidden: ValidatingAdmissionPolicy '(berth-listener-writes-[a-z0-9-]+)' with binding '\2' denied request: the listener of Berth may write only to namespaces of tenants, /;

/**
 * The text that may be shown for a confidential call. An admission rule or a webhook may quote the object that it
 * denies.
 */
function textToShow(kind: KubeErrorKind, code: number, { message = '' }: Status): string {
  if (SERVER_MESSAGES.test(message) || LISTENER_POLICY.test(message)) return message;
  if (kind === 'server') return `HTTP ${code}`;
  return kind === 'bad_request' ? 'the server could not read the object' : kind;
}

/** The cause without its text, which may quote the value. Decisions need only the field and the reason. */
const withoutText = (cause: KubeErrorCause): KubeErrorCause => ({ ...cause, message: '' });

/**
 * The error for a Status body (of a response, or of the ERROR event of a watch).
 * @param action the attempted call, e.g. `apply Deployment a/b`; the message becomes "failed to <action>: <server's
 * text>".
 * @param more.confidential the object contains secrets: only `said()` returns text that may quote it
 * @param more.retryAfterMs from the Retry-After header; default: Status.details.retryAfterSeconds
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
    message: `failed to ${action}: ${confidential ? textToShow(kind, code, status) : said}`,
    said,
    causes: confidential ? causes.map(withoutText) : causes,
    retryAfterMs: retryAfterMs ?? (seconds ? seconds * 1000 : undefined),
  });
}

/** Converts any thrown value to a {@link KubeError}. Unknown errors count as network failures. */
export function toKubeError(error: unknown, action = 'call the Kubernetes API'): KubeError {
  if (error instanceof KubeError) return error;
  const cause = error instanceof Error ? error : new Error(String(error));
  if (cause.name === 'AbortError') {
    return new KubeError({ kind: 'aborted', message: `failed to ${action}: aborted`, cause });
  }
  const text = cause.message || (cause as NodeJS.ErrnoException).code || cause.name;
  return new KubeError({ kind: 'network', message: `failed to ${action}: ${text}`, cause });
}

/** Texts for a PUT or POST, and for a server-side apply, which the server reports as an internal error. */
const UNKNOWN_FIELDS: readonly { readonly within: RegExp; readonly field: RegExp }[] = [
  { within: /strict decoding error: (.*)$/s, field: /unknown field "([^"]+)"/g },
  { within: /failed to create typed patch object (.*)$/s, field: /\.(\S+): field not declared in schema/g },
];

/** Paths of the unknown fields because of which the server rejected the object: `spec.database.storage`. */
export function unknownFields(error: KubeError): string[] {
  if (!isKubeError(error, 'bad_request', 'server')) return [];
  return UNKNOWN_FIELDS.flatMap(({ within, field }) =>
    [...(within.exec(error.said())?.[1] ?? '').matchAll(field)].flatMap(([, path]) => path ?? []),
  );
}
