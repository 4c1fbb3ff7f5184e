/**
 * The OpenAPI document as a contract: every response that a test receives is checked against it. A test that received a
 * response outside of the contract fails.
 */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type { FastifyInstance } from 'fastify';
import { afterEach } from 'vitest';
import type { OpenApiDocument, ResponseObject } from '../../../src/hub/api/openapi/openapi-types.ts';

/** An answer as it came over the wire; names of headers in lower case. */
export interface Exchange {
  readonly method: string;
  /** Path with or without query; null: the request could not be read, so it has none. */
  readonly path: string | null;
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  /** Text of the body; empty: none. */
  readonly body: string;
}

const FORMATS: Readonly<Record<string, RegExp>> = {
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/,
  uri: /^[a-z][a-z0-9+.-]*:\S+$/i,
  'uri-reference': /^\S*$/,
};
/** One object a line; an answer may go on for long. */
const NDJSON = 'application/x-ndjson';
/** Pages for people and the document itself are not operations. */
const NOT_DOCUMENTED =
  /^\/((docs|auth\/device|openapi(-3\.0)?\.json|v2\/auth\/(sign-in|callback))(\/|\?|$)|(\?|$))/;
const MAX_SHOWN = 10;
const MAX_VALUE = 200;

const pointer = (...steps: string[]) =>
  steps.map((step) => `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

function describeError({ instancePath, message, params, data }: ErrorObject): string {
  const got = (JSON.stringify(data) ?? 'undefined').slice(0, MAX_VALUE);
  return `  ${instancePath || '(whole)'}: ${message} ${JSON.stringify(params)}; is ${got}`;
}

/** What the document says about answers. */
export interface Contract {
  readonly document: OpenApiDocument;
  /** What is wrong with an answer, as lines; none: it is as documented. */
  problems(exchange: Exchange): string[];
}

interface Template {
  readonly path: string;
  readonly pattern: RegExp;
}

/** Paths with a fixed word win over those with a parameter in its place, as in the router. */
function templatesOf(document: OpenApiDocument): Template[] {
  return Object.keys(document.paths)
    .sort((a, b) => a.split('{').length - b.split('{').length)
    .map((path) => ({ path, pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]*')}$`) }));
}

/** Way to an answer in the document, and the answer. */
type Place = readonly [string, ResponseObject];

function component(document: OpenApiDocument, name: string | undefined): Place | undefined {
  const response = document.components.responses?.[name ?? ''];
  return response && [pointer('components', 'responses', name ?? ''), response];
}

/** Errors that belong to no operation. */
const REFUSALS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  404: 'NotFound',
  408: 'RequestTimeout',
  413: 'ContentTooLarge',
  414: 'UriTooLong',
  415: 'UnsupportedMediaType',
  417: 'ExpectationFailed',
  422: 'UnprocessableContent',
  431: 'HeadersTooLarge',
};

const sharedResponse = (document: OpenApiDocument, status: number) => component(document, REFUSALS[status]);

/** The contract that a document is. */
export function contractOf(document: OpenApiDocument): Contract {
  const ajv = new Ajv2020({ strict: false, allErrors: true, verbose: true, validateSchema: false });
  for (const [name, format] of Object.entries(FORMATS)) ajv.addFormat(name, format);
  ajv.addSchema({ $id: 'openapi', ...document });
  const compiled = new Map<string, ValidateFunction>();
  const validator = (path: string) => {
    const validate = compiled.get(path) ?? ajv.compile({ $ref: `openapi#${encodeURI(path)}` });
    compiled.set(path, validate);
    return validate;
  };
  const against = (path: string, value: unknown): string[] => {
    const validate = validator(path);
    return validate(value) ? [] : (validate.errors ?? []).slice(0, MAX_SHOWN).map(describeError);
  };
  const templates = templatesOf(document);

  /** Where the document has the answer, and the answer; `undefined`: nowhere. */
  const documented = ({ method, path, status }: Exchange): Place | undefined => {
    const wanted = method === 'HEAD' ? 'get' : method.toLowerCase();
    const bare = (path ?? '').split('?')[0] ?? '';
    const template = templates.find(({ pattern }) => pattern.test(bare))?.path ?? '';
    const responses = document.paths[template]?.[wanted]?.responses;
    if (responses === undefined) return sharedResponse(document, status);
    const found = responses[String(status)];
    if (found?.$ref !== undefined) return component(document, found.$ref.split('/').at(-1));
    return found && [pointer('paths', template, wanted, 'responses', String(status)), found];
  };

  const headerProblems = (place: string, response: ResponseObject, headers: Exchange['headers']) =>
    Object.entries(response.headers ?? {}).flatMap(([name, { required }]) => {
      const value = headers[name.toLowerCase()];
      if (value === undefined) return required ? [`  the header ${name} is missing`] : [];
      const problems = against(`${place}${pointer('headers', name, 'schema')}`, String(value));
      return problems.map((problem) => `  header ${name}: ${problem.trim()}`);
    });

  const bodyProblems = (place: string, response: ResponseObject, exchange: Exchange): string[] => {
    if (exchange.method === 'HEAD') return [];
    const type = String(exchange.headers['content-type'] ?? '').split(';')[0] ?? '';
    if (response.content === undefined)
      return exchange.body === '' ? [] : ['  there is a body, and none is documented'];
    if (response.content[type] === undefined)
      return [`  the content type is "${type}", documented: ${Object.keys(response.content).join(', ')}`];
    const schema = `${place}${pointer('content', type, 'schema')}`;
    if (type !== NDJSON) return against(schema, JSON.parse(exchange.body));
    const lines = exchange.body.split('\n').filter((line) => line !== '');
    return lines.flatMap((line) => against(schema, JSON.parse(line)));
  };

  return {
    document,
    problems(exchange) {
      if (exchange.path !== null && NOT_DOCUMENTED.test(exchange.path)) return [];
      const found = documented(exchange);
      if (found === undefined) return ['  this status is not documented'];
      const [place, response] = found;
      return [
        ...headerProblems(place, response, exchange.headers),
        ...bodyProblems(place, response, exchange),
      ];
    },
  };
}

let contract: Promise<Contract> | undefined;
/** The contract of these sources, created once per worker. */
export function apiContract(): Promise<Contract> {
  // Loaded when it is asked for: most files never call the API.
  contract ??= import('../../../scripts/openapi-document.ts')
    .then(({ openApiDocument }) => openApiDocument())
    .then((document) => contractOf(document as OpenApiDocument));
  return contract;
}

/** Responses of the running test. */
const exchanges: Exchange[] = [];

/**
 * Checks a response against the document. The running test fails at its end if they differ. The check itself is also at
 * the end: it blocks the event loop, for seconds on a busy machine, and a listener in this process would lose its lease.
 */
export function checkExchange(exchange: Exchange): void {
  exchanges.push(exchange);
}

/** What is wrong with a response, as text; undefined: nothing. */
function violationOf({ problems }: Contract, exchange: Exchange): string | undefined {
  const found = problems(exchange);
  if (found.length === 0) return undefined;
  const what = `${exchange.method} ${exchange.path ?? '(unreadable)'} answered ${exchange.status}`;
  return [`${what}, which is not what /openapi.json says:`, ...found].join('\n');
}

/** Checks every response of an API in this process, however it is called. Use it before the API is ready. */
export function checkAnswers(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply, payload) => {
    const { method, url: path } = request;
    // What a handler sends with 204, fastify leaves out.
    const sent = reply.statusCode !== 204 && (typeof payload === 'string' || Buffer.isBuffer(payload));
    const body = sent ? String(payload) : '';
    checkExchange({ method, path, status: reply.statusCode, headers: reply.getHeaders(), body });
    return payload;
  });
}

/** Whether `fetch` of this worker is checked. Files share the modules of their worker. */
let isChecked = false;

function checkFetch(): void {
  if (isChecked) return;
  isChecked = true;
  const original = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    const response = await original(input, init);
    if (!response.headers.has('x-request-id')) return response;
    const { method = 'GET' } = input instanceof Request ? input : (init ?? {});
    const { pathname, search } = new URL(input instanceof Request ? input.url : input);
    const headers = Object.fromEntries(response.headers);
    // A stream is its reader's: waiting for its end would hold it up.
    const isStream = headers['content-type']?.startsWith(NDJSON) ?? false;
    const body = isStream ? '' : await response.clone().text();
    checkExchange({ method, path: `${pathname}${search}`, status: response.status, headers, body });
    return response;
  };
}

/**
 * Checks the responses to every `fetch` of a test file, from any process. Responses of Berth have an X-Request-Id; those
 * of other servers are not checked. Call it once for each test file, because hooks belong to a file.
 */
export function checkFetches(): void {
  checkFetch();
  afterEach(async () => {
    const received = exchanges.splice(0);
    if (received.length === 0) return;
    const agreed = await apiContract();
    const found = received.flatMap((exchange) => violationOf(agreed, exchange) ?? []);
    if (found.length > 0) throw new Error(found.join('\n'));
  });
}
