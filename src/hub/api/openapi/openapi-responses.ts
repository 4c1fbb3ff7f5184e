import { z } from 'zod';
import { issuesSchema, sentenceSchema } from './error-schema.ts';
import {
  type Header,
  type JsonSchema,
  type OpenApiDocument,
  type Operation,
  operationsOf,
  type ResponseObject,
  SCHEMA_REFERENCE,
} from './openapi-types.ts';

/**
 * Adds to the document the parts that routes do not describe themselves: HTTP errors, their common form, and headers.
 * Error responses are components that all operations reference.
 */

const HEADERS = {
  'X-Request-Id': {
    description: 'Id of the request: the X-Request-Id of the client if it is valid, otherwise a new id.',
    required: true,
    schema: {
      type: 'string',
      minLength: 1,
      maxLength: 128,
      examples: ['0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a77'],
    },
  },
  ETag: {
    description: 'Changes with the generation of the deployment. Send this value in If-Match.',
    required: true,
    schema: { type: 'string', pattern: '^"[0-9]+"$', examples: ['"1"'] },
  },
  Location: {
    description: 'Path of the created object.',
    required: true,
    schema: {
      type: 'string',
      format: 'uri-reference',
      examples: ['/v2/deployments/0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a77'],
    },
  },
  'Retry-After': {
    description: 'Seconds to wait before the next attempt.',
    required: true,
    schema: { type: 'string', pattern: '^[0-9]+$', examples: ['1'] },
  },
  'WWW-Authenticate': {
    description: 'Authentication scheme.',
    required: true,
    schema: { type: 'string', examples: ['ApiKey'] },
  },
} as const satisfies Record<string, Header>;

const SENTENCE = { $ref: `${SCHEMA_REFERENCE}Error` };
const ISSUES = { $ref: `${SCHEMA_REFERENCE}FieldErrors` };
/** A union needs a name, because generators name an anonymous union after its place. */
const EITHER = { $ref: `${SCHEMA_REFERENCE}RequestError` };

interface ErrorAnswer {
  /** Name of the component. */
  readonly name: string;
  readonly description: string;
  readonly schema: JsonSchema;
  readonly detail: unknown;
  readonly headers?: readonly (keyof typeof HEADERS)[];
}

const issue = (loc: readonly string[], msg: string, type: string) => [{ loc, msg, type }];

/** Routes without rules also reject invalid HTTP. */
const UNREADABLE: ErrorAnswer = {
  name: 'BadRequest',
  description: 'The request is malformed.',
  schema: SENTENCE,
  detail: 'The URL cannot be decoded.',
};

const ERRORS: Readonly<Record<string, ErrorAnswer>> = {
  400: {
    name: 'Refused',
    description:
      'A rule rejects the request. If the request is malformed, the response has a message instead of a list of fields.',
    schema: EITHER,
    detail: issue(
      ['body', 'source_config', 'resource_spec', 'min_scale'],
      'must not be above max_scale (1)',
      'min_above_max',
    ),
  },
  401: {
    name: 'Unauthorized',
    description: 'The API key, the access token or the session is missing or invalid.',
    schema: SENTENCE,
    detail: 'The API key is not valid.',
    headers: ['WWW-Authenticate'],
  },
  403: {
    name: 'Forbidden',
    description:
      'The API key or the roles of the caller lack the scope, or a browser sent the request from a page of another origin.',
    schema: SENTENCE,
    detail: 'The API key lacks the scope deployments:write.',
  },
  404: {
    name: 'NotFound',
    description: 'The object does not exist, or belongs to another tenant.',
    schema: SENTENCE,
    detail: 'The deployment does not exist.',
  },
  408: {
    name: 'RequestTimeout',
    description: 'The request did not arrive within the time limit.',
    schema: SENTENCE,
    detail: 'The request did not arrive within the time limit.',
  },
  409: {
    name: 'Conflict',
    description: 'The request conflicts with the current state.',
    schema: SENTENCE,
    detail: 'The deployment is being deleted (AWAITING_DELETE) and cannot be changed.',
  },
  412: {
    name: 'PreconditionFailed',
    description: 'A precondition is not met: If-Match does not match, or If-None-Match matches.',
    schema: SENTENCE,
    detail:
      'If-Match does not match, because the deployment has generation 2. Read the deployment again, then repeat the ' +
      'change.',
  },
  413: {
    name: 'ContentTooLarge',
    description: 'The body is too large.',
    schema: SENTENCE,
    detail: 'The body is too large.',
  },
  414: {
    name: 'UriTooLong',
    description: 'The URL is too long.',
    schema: SENTENCE,
    detail: 'The URL is too long.',
  },
  415: {
    name: 'UnsupportedMediaType',
    description: 'The body has a media type that the operation does not accept.',
    schema: SENTENCE,
    detail: 'The body must be application/json.',
  },
  417: {
    name: 'ExpectationFailed',
    description: 'The header Expect has a value other than 100-continue.',
    schema: SENTENCE,
    detail: 'The header Expect can only be 100-continue.',
  },
  422: {
    name: 'UnprocessableContent',
    description: 'The shape of the request is wrong.',
    schema: ISSUES,
    detail: issue(['body', 'name'], 'is required', 'missing'),
  },
  429: {
    name: 'TooManyRequests',
    description: 'Too many requests. Retry after the time in Retry-After.',
    schema: SENTENCE,
    detail: 'Too many requests. Try again in a moment.',
    headers: ['Retry-After'],
  },
  431: {
    name: 'HeadersTooLarge',
    description: 'The headers are too large.',
    schema: SENTENCE,
    detail: 'The headers are too large.',
  },
  500: {
    name: 'InternalError',
    description: 'Internal error.',
    schema: SENTENCE,
    detail:
      'The request failed because of a server error. Report the X-Request-Id of the response to the administrator of ' +
      'the platform.',
  },
  502: {
    name: 'BadGateway',
    description: 'The git host or the registry returned an error or an invalid response.',
    schema: SENTENCE,
    detail: 'The git host cannot be reached or responds with an error. Check host_url, or try again.',
  },
  503: {
    name: 'Unavailable',
    description: 'The API is busy, or cannot reach the database. Try again.',
    schema: SENTENCE,
    detail: 'The service cannot reach its database or is busy. Try again.',
    headers: ['Retry-After'],
  },
  504: {
    name: 'GatewayTimeout',
    description: 'The git host did not answer in time.',
    schema: SENTENCE,
    detail: 'The git host did not answer in time. Try again.',
  },
};

/** Responses that every route can return. */
const EVERYWHERE = ['400', '408', '414', '417', '431', '500'];
/** Methods whose body is not read. All other methods read a body, even if the route does not expect a body. */
const BODILESS = new Set(['get', 'head']);
const BODY_ERRORS = ['413', '415', '422'];

function headersOf(names: readonly (keyof typeof HEADERS)[]): Record<string, Header> {
  return Object.fromEntries(['X-Request-Id' as const, ...names].map((name) => [name, HEADERS[name]]));
}

function component({ description, schema, detail, headers = [] }: ErrorAnswer): ResponseObject {
  return {
    description,
    headers: headersOf(headers),
    content: { 'application/json': { schema, example: { detail } } },
  };
}

function errorStatuses(method: string, { parameters = [], responses }: Operation): string[] {
  const own = Object.keys(responses).filter((status) => Number(status) >= 400);
  const checked = parameters.length > 0 ? ['422'] : [];
  return [...new Set([...own, ...checked, ...EVERYWHERE, ...(BODILESS.has(method) ? [] : BODY_ERRORS)])];
}

function errorOf(status: string, responses: Operation['responses']): ErrorAnswer {
  const answer = status === '400' && responses['400'] === undefined ? UNREADABLE : ERRORS[status];
  if (answer === undefined) throw new Error(`failed to document a response: ERRORS has no ${status}`);
  return answer;
}

type Schemas = OpenApiDocument['components']['schemas'];

/** The description of a response; default: the description of its schema. */
function descriptionOf({ description, content }: ResponseObject, schemas: Schemas): string {
  if (description !== undefined && description !== 'Default Response') return description;
  const name = content?.['application/json']?.schema?.$ref?.split('/').at(-1);
  const described = schemas[name ?? '']?.description;
  if (described === undefined) throw new Error(`failed to document a response: ${name} has no description`);
  return described;
}

/** The names of the headers of a response. A response that creates no object (a dry run) has none of an object. */
function carriedBy(status: string, { responses, 'x-answer-headers': headers = [] }: Operation) {
  const canCreate = responses['201'] !== undefined;
  return headers.filter((name) => status === '201' || (!canCreate && name !== 'Location'));
}

/** A PUT that creates or changes has an ETag in both cases, but not in a dry run of a creation. */
function optionalETag(
  method: string,
  status: string,
  { responses, 'x-answer-headers': headers = [] }: Operation,
) {
  const canHave = method === 'put' && status === '200' && responses['201'] !== undefined;
  return canHave && headers.includes('ETag') ? { ETag: { ...HEADERS.ETag, required: false } } : {};
}

function finish(method: string, operation: Operation, schemas: Schemas): Operation {
  const { 'x-answer-headers': _, ...rest } = operation;
  const successes = Object.entries(operation.responses)
    .filter(([status]) => Number(status) < 400)
    .map(([status, response]) => {
      const headers = {
        ...response.headers,
        ...headersOf(carriedBy(status, operation)),
        ...optionalETag(method, status, operation),
      };
      return [status, { ...response, description: descriptionOf(response, schemas), headers }];
    });
  const errors = errorStatuses(method, operation)
    .sort()
    .map((status) => [
      status,
      { $ref: `#/components/responses/${errorOf(status, operation.responses).name}` },
    ]);
  return { ...rest, responses: Object.fromEntries([...successes, ...errors]) };
}

function plain(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { target: 'draft-2020-12' });
  return json as JsonSchema;
}

/** The document with all possible responses and their headers. */
export function withAnswers(document: OpenApiDocument): OpenApiDocument {
  const paths: OpenApiDocument['paths'] = {};
  for (const { method, path, operation } of operationsOf(document))
    paths[path] = { ...paths[path], [method]: finish(method, operation, document.components.schemas) };
  const answers = [UNREADABLE, ...Object.values(ERRORS)];
  return {
    ...document,
    paths,
    components: {
      ...document.components,
      schemas: {
        ...document.components.schemas,
        Error: { ...plain(sentenceSchema), description: 'The error.' },
        FieldErrors: { ...plain(issuesSchema), description: 'Errors of fields.' },
        RequestError: {
          anyOf: [ISSUES, SENTENCE],
          description: 'Errors of fields, or the error of a malformed request.',
        },
      },
      responses: Object.fromEntries(answers.map((answer) => [answer.name, component(answer)])),
    },
  };
}
