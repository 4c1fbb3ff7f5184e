import type { FastifyRequest } from 'fastify';
import type { BodyIssue } from '../../../domain/core/body-issue.ts';
import { ApiError, wrongShape } from './errors.ts';
import { duplicateIssue } from './json-duplicates.ts';

/**
 * Parses JSON bodies and rejects content that a schema cannot check safely: unsafe or duplicate keys, deep nesting, and
 * text that cannot be stored.
 */

/** Maximum nesting, deeper than any body of the contract. */
const MAX_DEPTH = 32;
/** Keys that could reach the prototype of an object. */
const POISONED_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor']);

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Whether the route sanitizes its text itself, so that NUL and unpaired surrogates are accepted. By default, such
     * characters are rejected.
     */
    anyText?: boolean;
  }
}

function textIssue(text: string): string | null {
  if (text.includes('\u0000')) return 'must not contain NUL';
  return text.isWellFormed() ? null : 'must be well-formed Unicode, without unpaired surrogates';
}

type Path = (string | number)[];

function keyIssue(key: string, path: Path, anyText: boolean): BodyIssue | null {
  if (POISONED_KEYS.has(key))
    return { loc: [...path, key], msg: 'is not a known field', type: 'extra_forbidden' };
  const msg = anyText ? null : textIssue(key);
  return msg === null ? null : { loc: [...path], msg: `a key ${msg}`, type: 'text' };
}

/**
 * The first rejected value of an object or list; null: no problem. The function leaves `path` unchanged when it returns
 * null.
 */
function firstIssueBelow(value: object, path: Path, anyText: boolean): BodyIssue | null {
  if (path.length > MAX_DEPTH)
    return { loc: path.slice(0, 4), msg: 'is nested too deeply', type: 'too_deep' };
  const list = Array.isArray(value);
  for (const [key, member] of Object.entries(value)) {
    const wrongKey = list ? null : keyIssue(key, path, anyText);
    if (wrongKey !== null) return wrongKey;
    path.push(list ? Number(key) : key);
    const issue = firstIssue(member, path, anyText);
    if (issue !== null) return issue;
    path.pop();
  }
  return null;
}

function firstIssue(value: unknown, path: Path, anyText: boolean): BodyIssue | null {
  if (typeof value === 'object' && value !== null) return firstIssueBelow(value, path, anyText);
  const msg = typeof value !== 'string' || anyText ? null : textIssue(value);
  return msg === null ? null : { loc: [...path], msg, type: 'text' };
}

const decoder = new TextDecoder('utf-8', { fatal: true });

function malformed(msg: string): ApiError {
  return wrongShape([{ loc: ['body'], msg, type: 'json_invalid' }]);
}

function decode(body: Buffer): string {
  try {
    return decoder.decode(body);
  } catch {
    throw malformed('must be UTF-8');
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The message of the parser quotes the body, which may contain secrets.
    throw malformed('must be JSON');
  }
}

const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/gi;

/** Whether the content type declares UTF-8 or no charset. */
function isUtf8(contentType: string): boolean {
  return [...contentType.matchAll(CHARSET)].every(([, charset = '']) => /^utf-?8$/i.test(charset));
}

/**
 * The parser of `application/json`. An empty body counts as no body.
 * @throws ApiError 422, 415 for a body that is compressed or not UTF-8
 */
export function parseJsonBody(request: FastifyRequest, body: Buffer): unknown {
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') throw new ApiError(415, 'The body must not be compressed.');
  if (!isUtf8(request.headers['content-type'] ?? '')) throw new ApiError(415, 'The body must be UTF-8.');
  if (body.length === 0) return undefined;
  const text = decode(body);
  const value = parse(text);
  const anyText = request.routeOptions.config.anyText === true;
  const issue = firstIssue(value, ['body'], anyText) ?? duplicateIssue(text, MAX_DEPTH);
  if (issue !== null) throw wrongShape([issue]);
  return value;
}
