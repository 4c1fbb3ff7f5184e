/**
 * Reads objects as `kubectl get … -o json` prints them, with one request on an open connection. A kubectl process needs a
 * tenth of a second of processor time, and tests read objects hundreds of times.
 */
import { Agent } from 'node:https';
import { RESOURCES, type Resource } from '../../src/cluster/kube/client/resources.ts';
import { type ApiAccess, accessFromKubeconfig, apiRequest } from './api-probe.ts';
import type { KubectlAccess } from './kubectl.ts';

/** A read of one object, or of all that a selector selects. */
export interface ObjectRead {
  readonly path: string;
  /** Whether a missing object is an empty result, and not an error. */
  readonly ignoresMissing: boolean;
}

const SHORT_NAMES: Readonly<Record<string, keyof typeof RESOURCES>> = {
  mdep: 'ManagedDeployment',
  deploy: 'Deployment',
  sts: 'StatefulSet',
  rs: 'ReplicaSet',
  svc: 'Service',
  cm: 'ConfigMap',
  sa: 'ServiceAccount',
  pvc: 'PersistentVolumeClaim',
  po: 'Pod',
  ev: 'Event',
  hpa: 'HorizontalPodAutoscaler',
  pdb: 'PodDisruptionBudget',
  ing: 'Ingress',
  netpol: 'NetworkPolicy',
};

/** By plural, singular and short name. PodMetrics have the plural of pods. */
const BY_NAME = new Map<string, Resource>([
  ...Object.values(RESOURCES)
    .filter(({ kind, namespaced }) => namespaced && kind !== 'PodMetrics')
    .flatMap((resource) => [
      [resource.plural, resource] as const,
      [resource.kind.toLowerCase(), resource] as const,
    ]),
  ...Object.entries(SHORT_NAMES).map(([name, kind]) => [name, RESOURCES[kind]] as const),
]);

/** Options with a value, by each of their names. */
const OPTIONS: Readonly<Record<string, 'namespace' | 'output' | 'selector'>> = {
  '-n': 'namespace',
  '--namespace': 'namespace',
  '-o': 'output',
  '--output': 'output',
  '-l': 'selector',
  '--selector': 'selector',
};

interface Words {
  readonly words: readonly string[];
  readonly options: Readonly<Partial<Record<'namespace' | 'output' | 'selector', string>>>;
  readonly ignoresMissing: boolean;
}

/** Undefined: there is another option. */
function wordsOf(args: readonly string[]): Words | undefined {
  const words: string[] = [];
  const options: Partial<Record<'namespace' | 'output' | 'selector', string>> = {};
  let ignoresMissing = false;
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const [, name = '', value] = /^(--?[^=]+)(?:=(.*))?$/.exec(arg) ?? [];
    const option = OPTIONS[name];
    if (!arg.startsWith('-')) words.push(arg);
    else if (option !== undefined) options[option] = value ?? rest.shift() ?? '';
    else if (arg === '--ignore-not-found') ignoresMissing = true;
    else return undefined;
  }
  return { words, options, ignoresMissing };
}

/** The read that the arguments of kubectl describe. Undefined: only kubectl can answer, for example in another format. */
export function objectRead(args: readonly string[]): ObjectRead | undefined {
  const parsed = wordsOf(args);
  if (parsed === undefined) return undefined;
  const { words, options, ignoresMissing } = parsed;
  const [verb, what = '', ...more] = words;
  const [type = '', ...names] = [...what.split('/'), ...more];
  const resource = BY_NAME.get(type);
  const { namespace, output, selector } = options;
  const isRead = verb === 'get' && output === 'json' && names.length <= 1 && resource !== undefined;
  if (!isRead || !namespace || (names.length === 1 && selector !== undefined)) return undefined;
  const { group, version, plural } = resource;
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const query = selector === undefined ? '' : `?labelSelector=${encodeURIComponent(selector)}`;
  const path = [root, 'namespaces', namespace, plural, ...names.map(encodeURIComponent)].join('/');
  return { path: `${path}${query}`, ignoresMissing };
}

interface Printed {
  apiVersion?: string;
  kind?: string;
  metadata?: { managedFields?: unknown };
}

function withoutManagers<T extends Printed>(object: T): T {
  delete object.metadata?.managedFields;
  return object;
}

/** The text that kubectl prints for a response. Items of a list have no kind in the response. */
export function printed(body: string): string {
  const answer = JSON.parse(body) as Printed & { items?: Printed[] };
  if (answer.items === undefined) return JSON.stringify(withoutManagers(answer), null, 4);
  const { apiVersion } = answer;
  const kind = answer.kind?.replace(/List$/, '');
  const items = answer.items.map((item) => withoutManagers({ apiVersion, kind, ...item }));
  return JSON.stringify(
    { apiVersion: 'v1', items, kind: 'List', metadata: { resourceVersion: '' } },
    null,
    4,
  );
}

/** Idle connections do not keep the process running. */
const agent = new Agent({ keepAlive: true });
const accesses = new Map<string, ApiAccess | undefined>();

/** Undefined for a kubeconfig that the tests have not written, which may have other credentials. */
function accessOf(kubeconfigPath: string): ApiAccess | undefined {
  if (!accesses.has(kubeconfigPath)) {
    let access: ApiAccess | undefined;
    try {
      access = accessFromKubeconfig(kubeconfigPath);
    } catch {
      access = undefined;
    }
    accesses.set(kubeconfigPath, access);
  }
  return accesses.get(kubeconfigPath);
}

/** Whether a response 404 is about an object, and not about a type that the API server does not serve. */
const isMissingObject = (body: string) =>
  body.startsWith('{') && (JSON.parse(body) as { details?: { name?: string } }).details?.name !== undefined;

/** What `kubectl get` prints. Undefined: run kubectl, which also describes every error. */
export async function readAsKubectl(
  { kubeconfigPath }: KubectlAccess,
  args: readonly string[],
): Promise<string | undefined> {
  const read = objectRead(args);
  const access = read && accessOf(kubeconfigPath);
  if (read === undefined || access === undefined) return undefined;
  const answer = await apiRequest(access, read.path, { agent, timeoutMs: 10_000 }).catch(() => undefined);
  if (answer?.status === 404 && read.ignoresMissing && isMissingObject(answer.body)) return '';
  return answer?.status === 200 ? printed(answer.body) : undefined;
}
