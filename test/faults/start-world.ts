/** Starts a whole Berth behind three proxies. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { createKubeClient, type KubeClient } from '../../src/kube/client.ts';
import { RESOURCES } from '../../src/kube/resources.ts';
import { type KubectlAccess, kubectl } from '../cluster/kubectl.ts';
import { freePorts } from '../cluster/ports.ts';
import type { LocalPostgres } from '../cluster/postgres.ts';
import { logPath } from '../cluster/processes.ts';
import { waitFor } from '../cluster/wait.ts';
import {
  type BerthClient,
  berthClient,
  type PreparedBerth,
  prepareBerth,
} from '../integration/harness/berth-setup.ts';
import { forgetMarks } from './foreign-marks.ts';
import { type Fault, LastFault } from './last-fault.ts';
import { startHubProxy } from './proxies/hub-proxy.ts';
import type { HubProxy } from './proxies/hub-traffic.ts';
import { startKubernetesProxy } from './proxies/kubernetes-proxy.ts';
import type { KubernetesProxy } from './proxies/kubernetes-traffic.ts';
import { startPostgresProxy } from './proxies/postgres-proxy.ts';
import type { PostgresProxy } from './proxies/postgres-traffic.ts';
import { untilQuiet } from './quiet.ts';
import { logText, startRole, untilReady } from './role-process.ts';
import { type Tracked, tracked } from './tracked-rules.ts';
import type { Acknowledged, FaultRole, OwnedWorld, RoleProcess, StartOptions } from './world.ts';

/** In the order of the data's way. */
const ROLES: readonly FaultRole[] = ['api', 'operator', 'listener'];
const GONE_MS = 90_000;
const LEASE = 'berth-operator';

export interface RunParts {
  readonly access: KubectlAccess;
  readonly postgres: LocalPostgres;
  /** The world alone uses that PostgreSQL, and may stop it. Default: false. */
  readonly ownsPostgres?: boolean;
  /** Folder of the Berth that is run; default: this one. */
  readonly checkout?: string;
}

interface WorldParts {
  readonly prepared: PreparedBerth;
  readonly access: KubectlAccess;
  readonly admin: KubeClient;
  readonly database: pg.Pool;
  readonly kubernetes: Tracked<KubernetesProxy>;
  readonly postgres: Tracked<PostgresProxy>;
  readonly hub: Tracked<HubProxy>;
  readonly server: LocalPostgres | undefined;
  readonly faults: LastFault;
  /** Where the API listens, whoever is it. */
  readonly apiUrl: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly checkout: string | undefined;
}

class World implements OwnedWorld {
  readonly name: string;
  readonly #parts: WorldParts;
  readonly #client: BerthClient;
  readonly #processes = new Map<string, RoleProcess>();
  readonly #logsFrom = new Map<string, number>();
  readonly until: BerthClient['until'];
  readonly ready: BerthClient['ready'];
  #acknowledged: Acknowledged[] = [];
  readonly #deletedByHand = new Set<string>();
  #isEnding = false;

  constructor(name: string, parts: WorldParts) {
    this.name = name;
    this.#parts = parts;
    this.#client = berthClient(parts.prepared.apiKey, () => parts.apiUrl);
    this.until = (...args) => this.#client.until(...args);
    this.ready = (id) => this.#client.ready(id);
  }

  get tenantId(): string {
    return this.#parts.prepared.tenantId;
  }
  get apiKey(): string {
    return this.#parts.prepared.apiKey;
  }
  get namespace(): string {
    return this.#parts.prepared.namespace;
  }
  get ownNamespace(): string {
    return this.#parts.prepared.own;
  }
  get apiUrl(): string {
    return this.#parts.apiUrl;
  }
  get stateDir(): string {
    return this.#parts.prepared.stateDir;
  }
  get admin(): KubeClient {
    return this.#parts.admin;
  }
  get kubernetes(): KubernetesProxy {
    return this.#parts.kubernetes.proxy;
  }
  get postgres(): PostgresProxy {
    return this.#parts.postgres.proxy;
  }
  get hub(): HubProxy {
    return this.#parts.hub.proxy;
  }

  get server(): LocalPostgres {
    const { server } = this.#parts;
    if (server === undefined) throw new Error('failed to control PostgreSQL: others use it too');
    return {
      ...server,
      stopServer: (mode) => this.#noted('PostgreSQL stops', server.stopServer(mode)),
      startServer: () => this.#noted('PostgreSQL is back', server.startServer()),
    };
  }

  async #noted<T>(what: string, work: Promise<T>): Promise<T> {
    try {
      return await work;
    } finally {
      this.#parts.faults.note(what);
    }
  }

  kubectl(...args: string[]): Promise<string> {
    const [verb = '', resource = '', name = ''] = args;
    if (verb === 'delete') this.#deletedByHand.add(`${resource} ${name}`);
    const done = kubectl(this.#parts.access, ['-n', this.namespace, ...args]);
    return verb === 'get' ? done : this.#noted(`kubectl ${verb}`, done);
  }

  async sql<T>(text: string, values: readonly unknown[] = []): Promise<readonly T[]> {
    return (await this.#parts.database.query(text, [...values])).rows as T[];
  }

  call: BerthClient['call'] = async (method, path, body, headers) => {
    const asked = this.#client.call(method, path, body, headers);
    const answer = await (method === 'GET' ? asked : this.#noted(`${method} answered`, asked));
    if (method !== 'GET' && answer.status < 300)
      this.#acknowledged.push({ method, path, body, answer: answer as Acknowledged['answer'] });
    return answer as never;
  };

  create: BerthClient['create'] = async (body) => {
    const answer = await this.call('POST', '/v2/deployments', body);
    if (answer.status !== 201)
      throw new Error(`failed to create: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };

  acknowledged(): readonly Acknowledged[] {
    return [...this.#acknowledged];
  }

  processes(): readonly RoleProcess[] {
    return [...this.#processes.values()].filter((running) => running.isRunning());
  }

  process(name: string): RoleProcess {
    const found = this.#processes.get(name);
    if (found?.isRunning() !== true) throw new Error(`${name} is not running`);
    return found;
  }

  async start(role: FaultRole, name: string = role, options: StartOptions = {}): Promise<RoleProcess> {
    if (this.#processes.get(name)?.isRunning() === true) throw new Error(`${name} is running already`);
    const { stateDir } = this;
    const settings = { ...this.#parts.settings, ...(await this.#waysOf(role, name)), ...options.settings };
    const { checkout } = this.#parts;
    this.#assertInUse(name);
    const process = await startRole({ stateDir, role, name, settings, checkout });
    const started: RoleProcess = { ...process, signal: (signal) => this.#signal(process, signal) };
    this.#processes.set(name, started);
    this.#parts.faults.note(`${name} started`);
    if (this.#isEnding) started.signal('SIGKILL');
    this.#assertInUse(name);
    if (options.wait ?? true) {
      await untilReady(started, stateDir);
      this.#parts.faults.note(`${name} ready`);
    }
    return started;
  }

  #signal({ name, signal: send }: RoleProcess, signal: Parameters<RoleProcess['signal']>[0]): void {
    this.#parts.faults.note(`${signal} to ${name}`);
    send(signal);
  }

  /** A plan that was broken off does not know it, and goes on: nothing would end what it starts. */
  #assertInUse(name: string): void {
    if (this.#isEnding) throw new Error(`failed to start ${name}: the world ends`);
  }

  /** The settings that lead a process through ports of its own. */
  async #waysOf(role: FaultRole, name: string): Promise<Record<string, string>> {
    const { prepared, apiUrl } = this.#parts;
    const { settings } = prepared;
    if (role === 'api') {
      const url = await this.postgres.urlFor(name, settings['DATABASE_URL'] ?? '');
      // Another API beside the first one takes a free port.
      return { DATABASE_URL: url, BERTH_PORT: name === 'api' ? new URL(apiUrl).port : '0' };
    }
    const setting = role === 'operator' ? 'BERTH_OPERATOR_KUBECONFIG' : 'BERTH_LISTENER_KUBECONFIG';
    const ways = { [setting]: await this.kubernetes.kubeconfigFor(name, settings[setting] ?? '') };
    return role === 'operator' ? ways : { ...ways, BERTH_HUB_URL: await this.hub.urlFor(name, apiUrl) };
  }

  async kill(name: string): Promise<void> {
    const running = this.process(name);
    running.signal('SIGKILL');
    await running.ended;
  }

  async freeLeases({ pid }: RoleProcess): Promise<void> {
    const isOf = (holder: unknown) => typeof holder === 'string' && holder.includes(`_${pid}_`);
    const at = { namespace: this.ownNamespace, name: LEASE };
    const lease = await this.admin.find(RESOURCES.Lease, at);
    const spec = (lease?.['spec'] ?? {}) as { holderIdentity?: string };
    if (isOf(spec.holderIdentity))
      await this.admin.patch(RESOURCES.Lease, at, { spec: { holderIdentity: '' } });
    await this.sql(
      `UPDATE listeners SET lease_holder = NULL WHERE lease_holder LIKE '%\\_' || $1 || '\\_%'`,
      [String(pid)],
    );
  }

  async restart(name: string, options?: StartOptions): Promise<RoleProcess> {
    const former = this.#processes.get(name);
    if (former === undefined) throw new Error(`${name} was never started`);
    if (former.isRunning()) await this.kill(name);
    await this.freeLeases(former);
    return this.start(former.role, name, options);
  }

  quiet(options?: { timeoutMs?: number; forMs?: number }): Promise<void> {
    return untilQuiet(this, options);
  }

  begin(): void {
    for (const proxy of [this.kubernetes, this.postgres, this.hub]) proxy.clear();
    this.#acknowledged = [];
    this.#logsFrom.clear();
    for (const name of this.#processes.keys()) this.#logsFrom.set(name, this.#log(name, 0).length);
    this.misplayed();
    this.#deletedByHand.clear();
    this.#parts.faults.begin();
    forgetMarks(this);
  }

  misplayed(): readonly string[] {
    const { kubernetes, postgres, hub } = this.#parts;
    return [kubernetes, postgres, hub].flatMap(({ proxy }) =>
      proxy.takeFailures().map(({ message }) => message),
    );
  }

  lastFault(): Fault {
    return this.#parts.faults.last;
  }

  deletedByHand(): ReadonlySet<string> {
    return this.#deletedByHand;
  }

  #log(name: string, from: number): string {
    return logText(logPath(this.stateDir, name), from);
  }

  logs(): ReadonlyMap<string, string> {
    return new Map(
      [...this.#processes.keys()].map((name) => [name, this.#log(name, this.#logsFrom.get(name) ?? 0)]),
    );
  }

  async reset(): Promise<void> {
    for (const { takeBack } of [this.#parts.kubernetes, this.#parts.postgres, this.#parts.hub]) takeBack();
    for (const running of this.processes()) {
      running.signal('SIGCONT');
      if (!ROLES.includes(running.name as FaultRole)) {
        await this.kill(running.name);
        await this.freeLeases(running);
      }
    }
    for (const [name] of this.#processes)
      if (!ROLES.includes(name as FaultRole)) this.#processes.delete(name);
    for (const role of ROLES) if (this.#processes.get(role)?.isRunning() !== true) await this.restart(role);
    await this.#removeDeployments();
  }

  /** Until the database knows of none and the cluster has none. */
  async #removeDeployments(): Promise<void> {
    const { namespace, admin } = this;
    const left = () => this.sql<{ id: string }>('SELECT id FROM deployments');
    for (const { id } of await left()) await this.#client.call('DELETE', `/v2/deployments/${id}`);
    await waitFor(
      'the deployments of a plan to be gone',
      async () => {
        const { items } = await admin.list(RESOURCES.ManagedDeployment, { namespace });
        const claims = await admin.list(RESOURCES.PersistentVolumeClaim, { namespace });
        return (await left()).length + items.length + claims.items.length === 0;
      },
      { timeoutMs: GONE_MS, intervalMs: 200 },
    );
  }

  async stop(): Promise<void> {
    this.#isEnding = true;
    for (const running of this.processes()) running.signal('SIGKILL');
    await Promise.all([...this.#processes.values()].map(({ ended }) => ended));
    const { kubernetes, postgres, hub, admin, database, prepared } = this.#parts;
    await Promise.allSettled([kubernetes, postgres, hub].map(({ proxy }) => proxy.stop()));
    await admin.close();
    await database.end();
    // Connections of killed processes are ended by PostgreSQL itself; it is asked for the drop meanwhile.
    await sleep(0);
    await prepared.remove();
  }
}

/** Starts database, namespaces, proxies and the three processes; resolves when all are ready. */
export async function startWorld(
  name: string,
  run: RunParts,
  settings: Readonly<Record<string, string>> = {},
): Promise<OwnedWorld> {
  const { access, postgres } = run;
  const [port] = await freePorts(1);
  const prepared = await prepareBerth(`faults-${name}`, { access, postgres });
  const { kubeconfigPath } = access;
  const admin = await createKubeClient({
    kubeconfigPath,
    userAgent: 'berth-faults/admin',
    requestTimeoutMs: 30_000,
  });
  const database = new pg.Pool({ connectionString: prepared.database.adminUrl, max: 3 });
  database.on('error', () => undefined);
  const faults = new LastFault();
  const world = new World(name, {
    prepared,
    access,
    admin,
    database,
    kubernetes: tracked(await startKubernetesProxy({ folder: prepared.stateDir }), faults),
    postgres: tracked(await startPostgresProxy(), faults),
    hub: tracked(await startHubProxy(), faults),
    server: run.ownsPostgres === true ? postgres : undefined,
    faults,
    apiUrl: `http://127.0.0.1:${port}`,
    settings: { ...prepared.settings, ...settings },
    checkout: run.checkout,
  });
  try {
    for (const role of ROLES) await world.start(role, role, { wait: role === 'api' });
    await Promise.all(world.processes().map((started) => untilReady(started, prepared.stateDir)));
    return world;
  } catch (error) {
    await world.stop();
    throw error;
  }
}
