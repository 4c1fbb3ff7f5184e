import type { FieldErrors } from './api.gen.ts';

/** Errors of API calls, with messages for people. */

const NEXT_STEPS: ReadonlyMap<number | null, string> = new Map([
  [null, 'check the URL with berth whoami'],
  [401, 'berth login signs in again, and BERTH_API_KEY takes precedence'],
  [403, 'berth whoami shows the key or token that was used'],
]);

function nextStepOf(status: number | null): string | null {
  return NEXT_STEPS.get(status) ?? null;
}

/** A reason for which the API rejected a request. */
export interface Reason {
  /** Such as `body.source_config.repo_url`. null: the whole request. */
  readonly field: string | null;
  readonly message: string;
  /** Name of the violated rule. Absent: the API names none. */
  readonly type?: string;
}

/**
 * The API rejected the call, failed or could not be reached. The message gives the field and the cause, line by line.
 */
export class ApiProblem extends Error {
  /** null: no response. */
  readonly status: number | null;
  /** The next step for the user. null: the message says enough. */
  readonly next: string | null;
  /** The reasons of a rejected request, each with its field if it has one. */
  readonly reasons: readonly Reason[];
  constructor(
    status: number | null,
    message: string,
    next: string | null = nextStepOf(status),
    reasons: readonly Reason[] = [{ field: null, message }],
  ) {
    super(message);
    this.reasons = reasons;
    this.next = next;
    this.name = 'ApiProblem';
    this.status = status;
  }
}

/** Transient errors: no response, a busy or rate-limited API, or a gateway without a backend. */
const PASSING: ReadonlySet<number | null> = new Set([null, 429, 500, 502, 503, 504]);

/** Whether a problem may be temporary. A temporary problem does not show whether the requested object exists. */
export function isPassing(error: unknown): error is ApiProblem {
  return error instanceof ApiProblem && PASSING.has(error.status);
}

/** Whether the requested object does not exist. */
export const isMissing = (error: unknown): error is ApiProblem =>
  error instanceof ApiProblem && error.status === 404;

/** A problem with its next step, as the line that ends a command. */
export const problemText = ({ message, next }: ApiProblem): string =>
  `berth: ${message}${next === null ? '' : `; next: ${next}`}`;

function isFieldErrors(body: unknown): body is FieldErrors {
  return typeof body === 'object' && body !== null && Array.isArray((body as Partial<FieldErrors>).detail);
}

/** A path such as `body.source_config.volumes[0].name`. */
function place(loc: readonly (string | number)[]): string {
  return loc.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : text === '' ? step : `${text}.${step}`),
    '',
  );
}

/** null: the response has no details, so it may not be from the API. */
function reasonsOf(body: unknown): Reason[] | null {
  if (isFieldErrors(body))
    return body.detail.map(({ loc, msg, type }) => ({ field: place(loc), message: msg, type }));
  const detail = (body as { detail?: unknown } | null)?.detail;
  return typeof detail === 'string' ? [{ field: null, message: detail }] : null;
}

/** The API names its limit in a 413. A proxy does not. */
const limitOfProxy = (id: string) =>
  new ApiProblem(
    413,
    `413: a proxy before the API rejects requests of this size${id}`,
    'ask the administrator of the platform to raise the limit of the proxy (for ingress-nginx: proxy-body-size)',
  );

/** A reason as text. */
export const reasonText = ({ field, message }: Reason): string =>
  field === null ? message : `${field}: ${message}`;

/** The problem of a response with a status of 400 or above. */
export function problemOf(status: number, body: unknown, requestId: string | null): ApiProblem {
  const id = requestId === null ? '' : ` (request ${requestId})`;
  const details = reasonsOf(body);
  if (details === null && status === 413) return limitOfProxy(id);
  const reasons = details ?? [{ field: null, message: 'The response contains no details.' }];
  const lines = reasons.map((reason) => `  ${reasonText(reason)}`);
  const message = isFieldErrors(body)
    ? [`${status}: rejected${id}`, ...lines].join('\n')
    : `${status}: ${reasons.map(reasonText).join()}${id}`;
  return new ApiProblem(status, message, nextStepOf(status), reasons);
}
