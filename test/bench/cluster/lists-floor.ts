/**
 * The floor of `restart`: a separate process that sends the same LIST requests and discards the objects.
 *
 *   node lists-floor.ts < LISTS      prints when it sent the requests, all at once, and when all were complete
 */
import { text } from 'node:stream/consumers';
import { createKubeClient } from '../../../src/cluster/kube/client/client.ts';
import { RESOURCES, resourcePath } from '../../../src/cluster/kube/client/resources.ts';

/** A LIST request. */
export interface FloorList {
  /** Kubeconfig of the role that sent it. */
  readonly kubeconfigPath: string;
  /** Path with query. For a paged list, that of the first page. */
  readonly path: string;
}

/** In ms since the epoch. */
export interface FloorTimes {
  readonly began: number;
  readonly ended: number;
}

const TIMEOUT_MS = 60_000;
/** Parameters that the client adds itself, or that do not change which objects are listed. */
const IGNORED_PARAMETERS = new Set([
  'allowWatchBookmarks',
  'limit',
  'resourceVersionMatch',
  'sendInitialEvents',
  'timeoutSeconds',
  'watch',
]);

/** Parses a path. @throws Error for an unknown kind, or an unknown parameter */
function listOf(path: string) {
  const { pathname, searchParams } = new URL(path, 'https://kubernetes');
  const namespace = /\/namespaces\/([^/]+)\//.exec(pathname)?.[1];
  const resource = Object.values(RESOURCES).find((each) => resourcePath(each, { namespace }) === pathname);
  if (resource === undefined) throw new Error(`failed to list ${pathname}: unknown kind`);
  const others = [...searchParams.keys()].filter(
    (name) => name !== 'labelSelector' && !IGNORED_PARAMETERS.has(name),
  );
  if (others.length > 0) throw new Error(`failed to list ${path}: unknown parameters ${others.join(', ')}`);
  const labelSelector = searchParams.get('labelSelector') ?? undefined;
  return { resource, options: { namespace, labelSelector, streamed: searchParams.has('sendInitialEvents') } };
}

if (import.meta.main) {
  const lists = JSON.parse(await text(process.stdin)) as FloorList[];
  const paths = [...new Set(lists.map(({ kubeconfigPath }) => kubeconfigPath))];
  const clients = new Map(
    await Promise.all(
      paths.map(async (kubeconfigPath) => {
        const settings = { kubeconfigPath, userAgent: 'berth-bench/lists', requestTimeoutMs: TIMEOUT_MS };
        return [kubeconfigPath, await createKubeClient(settings)] as const;
      }),
    ),
  );
  const began = Date.now();
  await Promise.all(
    lists.map(async ({ kubeconfigPath, path }) => {
      const { resource, options } = listOf(path);
      const dropped = {} as never;
      await clients.get(kubeconfigPath)?.listAll(resource, { ...options, transform: () => dropped });
    }),
  );
  console.log(JSON.stringify({ began, ended: Date.now() } satisfies FloorTimes));
  await Promise.all([...clients.values()].map((client) => client.close()));
}
