/** A whole Berth for a test file: its own database, namespaces and processes, in the cluster of the run. */
import { type BerthProcess, startOnPort } from '../../installation/berth-process.ts';
import { type BerthClient, berthClient, type PrepareOptions, prepareBerth } from './berth-setup.ts';
import { environment, kubectlAsAdmin, postgres } from './environment.ts';

export { type Answer, type DeploymentAnswer, isReady } from './berth-setup.ts';
export { smallDeployment } from './samples.ts';

export interface WholeBerth extends BerthClient {
  readonly tenantId: string;
  readonly apiKey: string;
  /** For the owner of the database, who bypasses row-level security. Berth itself has an ordinary role. */
  readonly databaseUrl: string;
  /** Namespace of the workloads (self_hosted); in cloud mode each tenant has its own. */
  readonly namespace: string;
  /** Settings of the processes, for starting more of them. */
  readonly settings: Readonly<Record<string, string>>;
  readonly stateDir: string;
  /** The process that answers the API; replaced by `restart`. */
  process(): BerthProcess;
  /** Starts a role in a process of its own. */
  startRole(
    role: 'api' | 'listener' | 'operator' | 'all',
    name: string,
    more?: Record<string, string>,
  ): Promise<BerthProcess>;
  /** Starts it again after it was ended, on another port unless the settings name one. @param more settings of this start */
  restart(more?: Record<string, string>): Promise<void>;
  /** kubectl as administrator in `namespace`, answer parsed from JSON. */
  get<T = KubeList>(...args: string[]): Promise<T>;
  stop(): Promise<void>;
}

/** Objects as kubectl prints them. */
export interface KubeItem {
  kind: string;
  metadata: {
    name: string;
    namespace: string;
    uid: string;
    resourceVersion: string;
    generation?: number;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    ownerReferences?: { kind: string; name: string; uid: string; controller?: boolean }[];
    deletionTimestamp?: string;
  };
  spec: Record<string, unknown>;
  status?: Record<string, unknown>;
}
export interface KubeList {
  items: KubeItem[];
}

interface BerthOptions extends Omit<PrepareOptions, 'access' | 'postgres' | 'template'> {
  /** What to start: one process of all roles (default), the API alone, or nothing yet. */
  start?: 'all' | 'api' | 'none';
}

/** Starts a whole Berth; `stop` ends its processes and removes database and namespaces. */
export async function startWholeBerth(prefix: string, options: BerthOptions = {}): Promise<WholeBerth> {
  const { start = 'all', ...rest } = options;
  const access = environment();
  const prepared = await prepareBerth(prefix, {
    ...rest,
    access,
    postgres: await postgres(),
    template: access.template,
  });
  const { tenantId, apiKey, database, namespace, settings, stateDir } = prepared;
  const processes: BerthProcess[] = [];
  const startRole: WholeBerth['startRole'] = async (role, name, more = {}) => {
    const started = await startOnPort({ stateDir, role, name, settings: { ...settings, ...more } });
    processes.push(started);
    return started;
  };
  let hub = start === 'none' ? undefined : await startRole(start, 'berth');
  const running = (): BerthProcess => {
    if (hub === undefined) throw new Error('failed to use Berth: it was not started');
    return hub;
  };
  return {
    ...berthClient(apiKey, () => running().url),
    tenantId,
    apiKey,
    databaseUrl: database.adminUrl,
    namespace,
    settings,
    stateDir,
    process: running,
    startRole,
    restart: async (more) => {
      hub = await startRole(start === 'none' ? 'all' : start, 'berth', more);
    },
    get: async (...args) => JSON.parse(await kubectlAsAdmin(['get', '-n', namespace, '-o', 'json', ...args])),
    stop: async () => {
      await Promise.all(processes.map((process) => process.stop()));
      await prepared.remove();
    },
  };
}
