/** What the tests on a real node find ready, and how they ask it. */

import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { inject } from 'vitest';
import { kubectl as kubectlOf } from '../../cluster/kubectl.ts';
import { connectInside } from '../../cluster/real-node/tunnel.ts';
import { waitFor } from '../../cluster/wait.ts';
import { type DeploymentAnswer, isReady } from '../../integration/harness/berth.ts';

export interface RealNodeEnvironment {
  stateDir: string;
  kubeconfigPath: string;
  kubectlPath: string;
  /** What the names of images begin with. */
  imageHost: string;
  /** Where images are pushed to: the same registry. */
  pushHost: string;
  /** Address of the API's Service in the node's network. */
  api: { host: string; port: number };
  apiKey: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    /** A sentence: why there is no node. */
    realNode: RealNodeEnvironment | string;
  }
}

/** Why nothing can be tested here; undefined: the node is there. */
export function whySkipped(): string | undefined {
  const provided = inject('realNode');
  return typeof provided === 'string' ? provided : undefined;
}

export function node(): RealNodeEnvironment {
  const provided = inject('realNode');
  if (typeof provided === 'string') throw new Error(`there is no real node: ${provided}`);
  return provided;
}

/** Namespace of the deployments. */
export const NAMESPACE = 'apps';

/** As administrator. */
export const kubectl = (...args: string[]) => kubectlOf(node(), args);
export const get = async <T>(...args: string[]) =>
  JSON.parse(await kubectl('get', '-o', 'json', ...args)) as T;

/** Name of an image of the registry, as the cluster knows it. */
export const image = (name: string) => `${node().imageHost}/${name}`;

export interface HttpAnswer {
  status: number;
  body: string;
}

/** One HTTP request to a place in the node's network, on a connection of its own. Rejects if there is no answer. */
export function http(
  to: { host: string; port: number },
  method: string,
  path: string,
  options: { headers?: Record<string, string>; body?: string; timeoutMs?: number } = {},
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        ...{ host: to.host, port: to.port, method, path },
        headers: { ...options.headers, connection: 'close' },
        timeout: options.timeoutMs ?? 30_000,
        createConnection: () => connectInside(node().stateDir, to.host, to.port),
      },
      (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          body += chunk;
        });
        response.on('error', reject);
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
      },
    );
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer from ${to.host}:${to.port}${path}`)));
    outgoing.on('error', reject);
    outgoing.end(options.body);
  });
}

/** Calls Berth's API. @throws Error unless the answer is 2xx */
export async function call<T = DeploymentAnswer>(method: string, path: string, body?: unknown): Promise<T> {
  const { api, apiKey } = node();
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
  const text = body === undefined ? undefined : JSON.stringify(body);
  const answer = await http(api, method, path, { headers, ...(text === undefined ? {} : { body: text }) });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
  return (answer.body === '' ? undefined : JSON.parse(answer.body)) as T;
}

/** Waits until a deployment is as `check` wants it. */
export function until(
  id: string,
  what: string,
  check: (deployment: DeploymentAnswer) => boolean,
): Promise<DeploymentAnswer> {
  return waitFor(
    what,
    async () => {
      const answer = await call('GET', `/v2/deployments/${id}`);
      if (check(answer)) return answer;
      throw new Error(`${answer.status} ${JSON.stringify(answer.conditions)}`);
    },
    { timeoutMs: 120_000, intervalMs: 200 },
  );
}

export const untilReady = (id: string) => until(id, `${id} to be READY`, isReady);

const uniqueName = (prefix: string) => `${prefix}-${randomBytes(3).toString('hex')}`;

/**
 * POSTs a deployment of an app on small resources; its name begins with `name`.
 * @param more `config` and `revision`: more fields of `source_config` and of `source_revision_config`
 */
export function create(
  name: string,
  app: string,
  more: { resource_spec?: object; secrets?: object[]; config?: object; revision?: object } = {},
): Promise<DeploymentAnswer> {
  return call('POST', '/v2/deployments', {
    name: uniqueName(name),
    source: 'external_image',
    source_config: {
      ...more.config,
      resource_spec: { cpu: 0.05, memory_mb: 128, ...more.resource_spec },
    },
    source_revision_config: { ...more.revision, image_uri: image(app) },
    secrets: more.secrets ?? [],
  });
}

export const selector = (id: string, component?: string) => [
  '-n',
  NAMESPACE,
  '-l',
  [`berth.dev/deployment-id=${id}`, ...(component ? [`app.kubernetes.io/component=${component}`] : [])].join(
    ',',
  ),
];

export interface Pod {
  metadata: { name: string; uid: string; deletionTimestamp?: string };
  spec: { containers: { name: string; image: string }[] };
  status: {
    podIP?: string;
    conditions?: { type: string; status: string; lastTransitionTime: string }[];
    initContainerStatuses?: ContainerStatus[];
    containerStatuses?: ContainerStatus[];
  };
}
export interface ContainerStatus {
  name: string;
  containerID?: string;
  imageID: string;
  restartCount: number;
  state: {
    running?: { startedAt: string };
    terminated?: { startedAt: string; finishedAt: string; exitCode: number };
    waiting?: { reason: string; message?: string };
  };
}

export async function pods(id: string, component: string): Promise<Pod[]> {
  return (await get<{ items: Pod[] }>('pods', ...selector(id, component))).items;
}

/** Address of the Service of the app. */
export async function service(id: string): Promise<{ host: string; port: number }> {
  type Service = { spec: { clusterIP: string; ports: { port: number }[] } };
  const { items } = await get<{ items: Service[] }>('services', ...selector(id, 'app'));
  const [found] = items;
  return { host: found?.spec.clusterIP ?? '', port: found?.spec.ports[0]?.port ?? 0 };
}

/** kill -9 of the first process of a container, from outside: within, nobody may. */
export function killContainer(pod: Pod, container: string): void {
  const status = pod.status.containerStatuses?.find(({ name }) => name === container);
  const id = status?.containerID?.replace('containerd://', '');
  if (!id) throw new Error(`${container} of ${pod.metadata.name} does not run`);
  const first = readdirSync('/proc').find(
    (pid) =>
      /^\d+$/.test(pid) &&
      read(`/proc/${pid}/cgroup`).includes(id) &&
      /^NSpid:.*\t1$/m.test(read(`/proc/${pid}/status`)),
  );
  if (!first) throw new Error(`no process of ${container} of ${pod.metadata.name} is first in its namespace`);
  process.kill(Number(first), 'SIGKILL');
}

/** Empty where the process has ended meanwhile. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
