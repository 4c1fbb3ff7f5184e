/**
 * The floor of `restart`: what was listed, listed again by a program that keeps nothing of it, in a process of its own.
 *
 *   node lists-floor.ts < LISTS      prints when it asked, all kinds at once, and when it had all
 */
import { text } from 'node:stream/consumers';
import { createKubeClient } from '../../../src/cluster/kube/client/client.ts';
import { RESOURCES, resourcePath } from '../../../src/cluster/kube/client/resources.ts';

export interface FloorList {
  /** Of who has listed it. */
  readonly kubeconfigPath: string;
  /** As it was asked for, the first page of one that came in pages. */
  readonly path: string;
}

/** In ms since the epoch. */
export interface FloorTimes {
  readonly began: number;
  readonly ended: number;
}

const TIMEOUT_MS = 60_000;
/** What the client adds by itself, or says how much and not what. */
const OF_THE_WAY = new Set([
  'allowWatchBookmarks',
  'limit',
  'resourceVersionMatch',
  'sendInitialEvents',
  'timeoutSeconds',
  'watch',
]);

/** @throws Error for a kind that Berth does not know, or a part of one that cannot be asked for here */
function asked(path: string) {
  const { pathname, searchParams } = new URL(path, 'https://kubernetes');
  const namespace = /\/namespaces\/([^/]+)\//.exec(pathname)?.[1];
  const resource = Object.values(RESOURCES).find((each) => resourcePath(each, { namespace }) === pathname);
  if (resource === undefined) throw new Error(`failed to list ${pathname}: no such kind is known`);
  const others = [...searchParams.keys()].filter((name) => name !== 'labelSelector' && !OF_THE_WAY.has(name));
  if (others.length > 0) throw new Error(`failed to list ${path}: ${others.join(', ')} is not known here`);
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
      const { resource, options } = asked(path);
      const dropped = {} as never;
      await clients.get(kubeconfigPath)?.listAll(resource, { ...options, transform: () => dropped });
    }),
  );
  console.log(JSON.stringify({ began, ended: Date.now() } satisfies FloorTimes));
  await Promise.all([...clients.values()].map((client) => client.close()));
}
