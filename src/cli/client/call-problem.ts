import type { FieldErrors } from './api.gen.ts';

/** Errors of API calls, with messages for people. */

const NEXT_STEPS: ReadonlyMap<number | null, string> = new Map([
  [null, 'check the URL with berth whoami'],
  [401, 'berth login stores another key, and BERTH_API_KEY takes precedence'],
  [403, 'berth whoami shows the key that was used'],
]);

function nextStepOf(status: number | null): string | null {
  return NEXT_STEPS.get(status) ?? null;
}

/**
 * The API rejected the call, failed or could not be reached. The message gives the field and the cause, line by line.
 */
export class ApiProblem extends Error {
  /** null: no response. */
  readonly status: number | null;
  /** The next step for the user. null: the message says enough. */
  readonly next: string | null;
  constructor(status: number | null, message: string, next: string | null = nextStepOf(status)) {
    super(message);
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

function reasons(body: unknown): string[] {
  if (isFieldErrors(body)) return body.detail.map(({ loc, msg }) => `${place(loc)}: ${msg}`);
  const detail = (body as { detail?: unknown } | null)?.detail;
  return [typeof detail === 'string' ? detail : 'The response contains no details.'];
}

/** The problem of a response with a status of 400 or above. */
export function problemOf(status: number, body: unknown, requestId: string | null): ApiProblem {
  const id = requestId === null ? '' : ` (request ${requestId})`;
  const lines = reasons(body);
  const [only] = lines;
  if (lines.length === 1 && !isFieldErrors(body)) return new ApiProblem(status, `${status}: ${only}${id}`);
  return new ApiProblem(status, [`${status}: rejected${id}`, ...lines.map((line) => `  ${line}`)].join('\n'));
}
