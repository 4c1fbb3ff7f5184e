/**
 * The floor of `restart`: what was listed, listed again by a program that keeps nothing of it, in a process of its own.
 *
 *   node lists-floor.ts < LISTS      prints how many seconds they took from the first request on, all kinds at once
 */
import { text } from 'node:stream/consumers';
import { createKubeClient } from '../../../src/kube/client.ts';
import { RESOURCES, resourcePath } from '../../../src/kube/resources.ts';

export interface FloorList {
  /** Of who has listed it. */
  readonly kubeconfigPath: string;
  /** As it was asked for, the first page of one that came in pages. */
  readonly path: string;
}

const TIMEOUT_MS = 60_000;
const MS = 1000;

/** @throws Error for a kind that Berth does not know */
function asked(path: string) {
  const { pathname, searchParams } = new URL(path, 'https://kubernetes');
  const namespace = /\/namespaces\/([^/]+)\//.exec(pathname)?.[1];
  const resource = Object.values(RESOURCES).find((each) => resourcePath(each, { namespace }) === pathname);
  if (resource === undefined) throw new Error(`failed to list ${pathname}: no such kind is known`);
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
  const began = performance.now();
  await Promise.all(
    lists.map(async ({ kubeconfigPath, path }) => {
      const { resource, options } = asked(path);
      const dropped = {} as never;
      await clients.get(kubeconfigPath)?.listAll(resource, { ...options, transform: () => dropped });
    }),
  );
  console.log((performance.now() - began) / MS);
  await Promise.all([...clients.values()].map((client) => client.close()));
}
