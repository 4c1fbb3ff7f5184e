/** An operator for a test file, in a namespace of its own, with exactly the rights of its ServiceAccount. */
import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RegistryOptions } from '../../../src/cluster/image-registry/repository-call.ts';
import { createKubeClient, type ObservedRequest } from '../../../src/cluster/kube/client/client.ts';
import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import {
  type OperatorOptions,
  type OperatorState,
  runOperator,
} from '../../../src/cluster/operator/operator.ts';
import type { Patience } from '../../../src/cluster/operator/rollout/failure-rules.ts';
import type { BuildConfig } from '../../../src/contract/render/build-config.ts';
import type { RenderConfig } from '../../../src/contract/render/render-config.ts';
import type { ManagedDeploymentStatus } from '../../../src/contract/resource/managed-deployment.ts';
import type { Policy } from '../../../src/domain/policy/policy.ts';
import { createDnsClient } from '../../../src/outbound/dns-client.ts';
import { waitFor } from '../../cluster/wait.ts';
import { compileCache } from '../../installation/berth-process.ts';
import { BERTH_NAMESPACE } from '../../installation/install.ts';
import { createNamespace, deleteNamespace, environment, kubectlAsAdmin, uniqueName } from './environment.ts';
import { installedKubeconfigs } from './installed-berth.ts';

export const RENDERING: RenderConfig = {
  hosting: 'self_hosted',
  podSecurity: 'baseline',
  databaseImage: 'postgres:18',
  cacheImage: 'valkey:8',
  healthPath: null,
  progressDeadlineSeconds: 600,
  routing: { mode: 'ingress', className: null, tlsIssuer: null },
  otlpEndpoint: null,
  networkIsolation: false,
  storageClass: null,
  kubernetesVersion: '1.36',
};

/** What an operator process is started with. */
export interface OperatorSettings {
  kubeconfigPath: string;
  namespace: string;
  identity: string;
  lease: { namespace: string; name: string };
  config: RenderConfig;
  /** Beside `namespace`. */
  moreNamespaces?: string[];
  patience?: Partial<Omit<Patience, 'deadlineMs'>>;
  discoveryMs?: number;
  /** Of the hub; absent: not known. */
  ownHost?: string;
  /** Of the other parts of the platform; absent: none is known. */
  platformHosts?: readonly string[];
  /** Of the hub; absent: none. */
  appDomain?: string;
  /** DNS servers for additional hosts; absent: hosts are not looked up. */
  dnsServers?: readonly string[];
  lookupIntervals?: OperatorOptions['lookupIntervals'];
  policy?: Policy;
  /** How builds are run; absent: nothing is built. */
  builds?: BuildConfig;
  /** How registries are asked for digests; absent: images are used as given. */
  images?: RegistryOptions;
  /** Interval of the reads of referenced Secrets. */
  secretPollMs?: number;
}

export interface RunningOperator {
  readonly identity: string;
  /** Every call it has sent, watches and leases aside. */
  readonly requests: ObservedRequest[];
  state(): OperatorState;
  stop(): Promise<void>;
}

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Runs an operator in this process. */
export async function startOperator(settings: OperatorSettings): Promise<RunningOperator> {
  const {
    kubeconfigPath,
    namespace,
    identity,
    lease,
    config,
    moreNamespaces = [],
    patience,
    discoveryMs,
    ownHost,
    platformHosts,
    appDomain,
    dnsServers,
    lookupIntervals,
    policy,
    builds,
    images,
    secretPollMs,
  } = settings;
  const requests: ObservedRequest[] = [];
  let state: OperatorState = 'starting';
  const client = await createKubeClient({
    kubeconfigPath,
    userAgent: `berth-test/${identity}`,
    requestTimeoutMs: 10_000,
    observer: (request) => {
      if (request.verb !== 'watch' && request.resource !== 'leases') requests.push(request);
    },
  });
  const stopping = new AbortController();
  const ended = runOperator(
    {
      client,
      config,
      ...(patience === undefined ? {} : { patience }),
      ...(discoveryMs === undefined ? {} : { discoveryMs }),
      builds,
      images,
      ...(policy === undefined ? {} : { policy }),
      secretPollMs,
      ownHost,
      platformHosts,
      appDomain,
      ...(dnsServers === undefined ? {} : { dns: createDnsClient({ servers: dnsServers }) }),
      ...(lookupIntervals === undefined ? {} : { lookupIntervals }),
      namespaces: [namespace, ...moreNamespaces],
      identity,
      lease,
      logger: silent,
      hooks: {
        onState: (now) => {
          state = now;
        },
      },
    },
    stopping.signal,
  );
  ended.catch(() => {});
  return {
    identity,
    requests,
    state: () => state,
    stop: async () => {
      stopping.abort();
      await ended;
      await client.close();
    },
  };
}

/** Runs an operator in a process of its own, to be killed. Its one argument is the settings as JSON. */
export function forkOperator(settings: OperatorSettings): ChildProcess {
  const script = fileURLToPath(new URL('./operator-process.ts', import.meta.url));
  return fork(script, [JSON.stringify(settings)], {
    stdio: 'inherit',
    execArgv: [],
    env: { ...process.env, ...compileCache() },
  });
}

export interface OperatorWorld {
  readonly namespace: string;
  readonly settings: OperatorSettings;
  /** Settings of one more operator that competes for the same lease. */
  another(identity: string, config?: Partial<RenderConfig>): OperatorSettings;
  kubectl(...args: string[]): Promise<string>;
  /** Creates or changes a ManagedDeployment as a user would. @param elsewhere another namespace */
  apply(name: string, spec: object, elsewhere?: string): Promise<void>;
  get(resource: string, name: string): Promise<UntypedObject | undefined>;
  /** Waits until the object does not exist. */
  gone(resource: string, name: string): Promise<unknown>;
  names(resource: string, selector?: string): Promise<string[]>;
  status(name: string): Promise<ManagedDeploymentStatus>;
  /** Waits until the status says so. */
  until(
    name: string,
    what: string,
    check: (status: ManagedDeploymentStatus) => boolean,
  ): Promise<ManagedDeploymentStatus>;
  /** Waits until the operator has seen the latest change and Ready is True. */
  ready(name: string): Promise<ManagedDeploymentStatus>;
  end(): Promise<void>;
}

const WAIT_MS = 60_000;

/** `True Converged`, say. */
export function condition(status: ManagedDeploymentStatus, type: string): string {
  const found = status.conditions?.find((candidate) => candidate.type === type);
  return found === undefined ? 'absent' : `${found.status} ${found.reason}`;
}

/** Installs Berth and makes a namespace; starts no operator. */
export async function operatorWorld(prefix: string): Promise<OperatorWorld> {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'berth-operator-'));
  const { operator: kubeconfigPath } = await installedKubeconfigs(environment(), folder);
  const namespace = await createNamespace(prefix);
  const lease = { namespace: BERTH_NAMESPACE, name: uniqueName('operator') };
  const settings = { kubeconfigPath, namespace, identity: uniqueName('one'), lease, config: RENDERING };
  const kubectl = (...args: string[]) => kubectlAsAdmin([`--namespace=${namespace}`, ...args]);
  const get = async (resource: string, name: string): Promise<UntypedObject | undefined> => {
    const text = await kubectl('get', resource, name, '--ignore-not-found', '--output=json');
    return text.trim() === '' ? undefined : (JSON.parse(text) as UntypedObject);
  };
  const status = async (name: string) =>
    ((await get('mdep', name))?.['status'] ?? {}) as ManagedDeploymentStatus;
  const until: OperatorWorld['until'] = async (name, what, check) => {
    let last: ManagedDeploymentStatus = {};
    const poll = async () => {
      last = await status(name);
      return check(last) ? last : undefined;
    };
    try {
      return await waitFor(`${name} to be ${what}`, poll, { timeoutMs: WAIT_MS, intervalMs: 100 });
    } catch (error) {
      throw new Error(`${String(error)}; last status: ${JSON.stringify(last)}`, { cause: error });
    }
  };
  return {
    namespace,
    settings,
    another: (identity, config = {}) => ({
      ...settings,
      identity: uniqueName(identity),
      config: { ...RENDERING, ...config },
    }),
    kubectl,
    get,
    gone: (resource, name) =>
      waitFor(`${resource} ${name} to be gone`, async () => (await get(resource, name)) === undefined, {
        timeoutMs: WAIT_MS,
        intervalMs: 200,
      }),
    status,
    until,
    apply: async (name, spec, elsewhere = namespace) => {
      const manifest = {
        apiVersion: 'berth.dev/v1alpha1',
        kind: 'ManagedDeployment',
        metadata: { name },
        spec,
      };
      await kubectlAsAdmin(
        [`--namespace=${elsewhere}`, 'apply', '--server-side', '--force-conflicts', '-f', '-'],
        JSON.stringify(manifest),
      );
    },
    names: async (resource, selector = '') => {
      const text = await kubectl(
        'get',
        resource,
        '--output=json',
        ...(selector === '' ? [] : ['-l', selector]),
      );
      const { items } = JSON.parse(text) as { items: UntypedObject[] };
      return items.filter(({ metadata }) => !metadata.deletionTimestamp).map(({ metadata }) => metadata.name);
    },
    ready: async (name) => {
      const generation = (await get('mdep', name))?.metadata.generation;
      return await until(name, 'ready', (now) => {
        return now.observedGeneration === generation && condition(now, 'Ready') === 'True Converged';
      });
    },
    end: async () => {
      rmSync(folder, { recursive: true, force: true });
      await deleteNamespace(namespace);
    },
  };
}
