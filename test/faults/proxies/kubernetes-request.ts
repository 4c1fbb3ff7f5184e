/** Derives the meaning of a Kubernetes request from its method, path and type. */
import type { HttpRequest } from './http-traffic.ts';
import type { KubernetesRequest, KubernetesVerb } from './kubernetes-traffic.ts';

/** After `namespaces/NAME`, these are subresources of the namespace, not resources in it. */
const OF_NAMESPACES: readonly string[] = ['status', 'finalize'];

/** The parameter of a list that is streamed as events. Berth ends the stream after the list. */
const INITIAL_EVENTS = 'sendInitialEvents';

/** Whether the request is a list that is streamed as events. */
export const isStreamedList = ({ verb, path }: KubernetesRequest): boolean =>
  verb === 'list' && new URL(path, 'https://kubernetes').searchParams.has(INITIAL_EVENTS);

interface Place {
  readonly resource: string;
  readonly namespace: string;
  /** '' for a collection. */
  readonly name: string;
  readonly subresource: string;
}

/** Parses `/api/v1/…` and `/apis/GROUP/VERSION/…`. For other paths, all members are ''. */
function placeOf(pathname: string): Place {
  const [root, ...rest] = pathname.split('/').filter(Boolean).map(decodeURIComponent);
  const parts = root === 'api' ? rest.slice(1) : root === 'apis' ? rest.slice(2) : [];
  const [first = '', name = '', third = ''] = parts;
  const within = first === 'namespaces' && third !== '' && !OF_NAMESPACES.includes(third);
  const namespace = within ? name : '';
  const [resource = '', ownName = '', subresource = ''] = within ? parts.slice(2) : parts;
  return { resource, namespace, name: ownName, subresource };
}

function verbOf(method: string, contentType: string, query: URLSearchParams, place: Place): KubernetesVerb {
  switch (method) {
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return contentType.startsWith('application/apply-patch') ? 'apply' : 'patch';
    case 'DELETE':
      return place.name === '' ? 'deletecollection' : 'delete';
    default:
      if (place.resource === '' || place.name !== '') return 'get';
      return isTrue(query.get('watch')) && !isTrue(query.get(INITIAL_EVENTS)) ? 'watch' : 'list';
  }
}

/** Interprets a query parameter as a boolean, as the Go server does. */
function isTrue(value: string | null): boolean {
  return value !== null && !['', '0', 'f', 'false'].includes(value.toLowerCase());
}

function nameIn(body: unknown): string {
  const name = (body as { metadata?: { name?: unknown } } | undefined)?.metadata?.name;
  return typeof name === 'string' ? name : '';
}

/** @param contentType media type of the body; '' if the request has no such header */
export function describeKubernetesRequest(request: HttpRequest, contentType: string): KubernetesRequest {
  const { pathname, searchParams } = new URL(request.path, 'https://kubernetes');
  const place = placeOf(pathname);
  const verb = verbOf(request.method, contentType, searchParams, place);
  return {
    ...request,
    ...place,
    verb,
    name: verb === 'create' && place.name === '' ? nameIn(request.body) : place.name,
    dryRun: searchParams.has('dryRun'),
  };
}
