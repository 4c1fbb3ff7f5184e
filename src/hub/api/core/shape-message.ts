import type { z } from 'zod';

/** Messages for zod's issues that readers understand without zod. The message of a schema takes precedence. */

/**
 * An issue as zod passes it to an error map, with the input. No message quotes the input, because it may be a secret.
 */
type RawIssue = z.core.$ZodRawIssue;

const BOOLEAN_WORDS = 'true or false (true, True, TRUE, 1, false, False, FALSE and 0 are accepted)';

/** The expected form of a query parameter. All query parameters are strings, so the messages describe the text. */
const QUERY_TYPES: Readonly<Record<string, string>> = {
  boolean: `must be ${BOOLEAN_WORDS}`,
  int: 'must be a whole number, such as 5',
  number: 'must be a whole number, such as 5',
  array: 'must be a list, separated by commas',
};

/** The expected type of a member of a JSON body. */
const BODY_TYPES: Readonly<Record<string, string>> = {
  boolean: 'must be true or false, without quotes',
  int: 'must be a whole number',
  number: 'must be a number, without quotes',
  string: 'must be a string',
  array: 'must be a list',
  object: 'must be an object',
  record: 'must be an object',
  null: 'must be null',
};

const FORMATS: Readonly<Record<string, string>> = {
  datetime: 'must be a time such as 2030-01-31T00:00:00Z',
  uuid: 'must be a UUID',
  guid: 'must be a UUID',
  url: 'must be a URL',
};

const list = (values: readonly unknown[]) => values.map(String).join(', ');
const counted = (count: number | bigint, one: string, many: string) => `${count} ${count === 1 ? one : many}`;

/** The unit of a size that is too small or too large. */
function size(origin: string, bound: number | bigint): string {
  if (origin === 'string') return `have ${bound === 0 ? 'no' : counted(bound, 'character', 'characters')}`;
  if (origin === 'array' || origin === 'set') return `have ${counted(bound, 'entry', 'entries')}`;
  return `be ${bound}`;
}

const bounded = (origin: string, bound: number | bigint, word: 'at least' | 'at most') =>
  `must ${size(origin, bound).replace(/^(have|be) /, `$1 ${word} `)}`;

function typeMessage(issue: RawIssue & { code: 'invalid_type' }, isQuery: boolean): string | undefined {
  if (isQuery && Array.isArray(issue.input)) return 'must be set only once';
  const { expected } = issue;
  return (isQuery ? QUERY_TYPES : BODY_TYPES)[expected];
}

function formatMessage({ format }: { format: string }, isQuery: boolean): string | undefined {
  const message = FORMATS[format];
  if (format !== 'datetime' || !isQuery) return message;
  return `${message}; in a URL, encode + as %2B`;
}

/**
 * The error map for one part of a request; undefined: zod's own message is clear enough.
 * @param part the first element of locations: body, query, path, header
 */
export function shapeMessage(part: string): z.core.$ZodErrorMap {
  const isQuery = part === 'query';
  return (issue: RawIssue) => {
    switch (issue.code) {
      case 'invalid_type':
        return typeMessage(issue as RawIssue & { code: 'invalid_type' }, isQuery);
      case 'invalid_value':
        if (isQuery && Array.isArray(issue.input)) return 'must be set only once';
        return `must be ${issue.values.length === 1 ? '' : 'one of '}${list(issue.values)}`;
      case 'too_small':
        return bounded(issue.origin, issue.minimum, 'at least');
      case 'too_big':
        return bounded(issue.origin, issue.maximum, 'at most');
      case 'invalid_format':
        return formatMessage(issue, isQuery);
      case 'invalid_union':
        return 'does not match any of the accepted forms';
      default:
        return undefined;
    }
  };
}
