/** Errors of the API. */

/** A request that the API rejected, or that did not reach it. */
export class Problem extends Error {
  override readonly name = 'Problem';
  /** Status of the response; null: there was no response. */
  readonly status: number | null;
  /** Id that finds the request in the log of the API; null: there was no response. */
  readonly requestId: string | null;
  /** Errors of fields of the body. Empty: the error is not about fields. */
  readonly fields: readonly FieldError[];

  constructor(
    message: string,
    {
      status,
      requestId,
      fields = [],
    }: { status: number | null; requestId: string | null; fields?: readonly FieldError[] },
  ) {
    super(message);
    this.status = status;
    this.requestId = requestId;
    this.fields = fields;
  }
}

/** An error of a field of the body. */
export interface FieldError {
  /** Path in the body, such as `['source_config', 'repo_url']`. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

interface ApiFieldError {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
}

const isFieldError = (value: unknown): value is ApiFieldError =>
  typeof value === 'object' && value !== null && 'loc' in value && Array.isArray(value.loc) && 'msg' in value;

/** A body of an error in words; null: it is not from the API. */
export function messageOf(body: unknown): string | null {
  if (typeof body !== 'object' || body === null || !('detail' in body)) return null;
  const { detail } = body;
  if (typeof detail === 'string') return detail;
  if (!Array.isArray(detail)) return null;
  const fields = detail.filter(isFieldError);
  return fields.map(({ loc, msg }) => `${loc.slice(1).join('.') || loc.join('.')} ${msg}`).join('; ');
}

/** The errors of fields that a body contains. */
function fieldErrorsOf(body: unknown): readonly FieldError[] {
  if (typeof body !== 'object' || body === null || !('detail' in body) || !Array.isArray(body.detail))
    return [];
  const errors = body.detail.filter(isFieldError).filter(({ loc }) => loc[0] === 'body');
  return errors.map(({ loc, msg }) => ({ path: loc.slice(1), message: msg }));
}

/** The problem of a response that is not successful. */
export function problemOf(response: Response, body: unknown): Problem {
  const message =
    messageOf(body) ?? `The server answered ${response.status}, and the answer is not from the API of Berth.`;
  const requestId = response.headers.get('x-request-id');
  return new Problem(message, { status: response.status, requestId, fields: fieldErrorsOf(body) });
}

const UNREACHABLE = 'The API cannot be reached. Check your connection, or try again later.';

/** The problem of a request without a response. */
export const unreachable = (): Problem => new Problem(UNREACHABLE, { status: null, requestId: null });

/** Whether the same request can succeed a moment later. */
export function isTemporary(error: unknown): boolean {
  if (!(error instanceof Problem)) return false;
  return error.status === null || error.status === 429 || error.status >= 500;
}
