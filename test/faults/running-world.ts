/** A running Berth behind three proxies. */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { KubeClient } from '../../src/cluster/kube/client/client.ts';
import { RESOURCES } from '../../src/cluster/kube/client/resources.ts';
import { type KubectlAccess, kubectl } from '../cluster/kubectl.ts';
import type { LocalPostgres } from '../cluster/postgres.ts';
import { waitFor } from '../cluster/wait.ts';
import { type BerthClient, berthClient, type PreparedBerth } from '../integration/harness/berth-setup.ts';
import { forgetMarks } from './oracles/foreign-fields.ts';
import type { Fault, LastFault } from './oracles/last-fault.ts';
import { untilQuiet } from './oracles/quiescence.ts';
import type { HubProxy } from './proxies/hub-traffic.ts';
import type { KubernetesProxy } from './proxies/kubernetes-traffic.ts';
import type { PostgresProxy } from './proxies/postgres-traffic.ts';
import type { Tracked } from './tracked-rules.ts';
import type { Acknowledged, FaultRole, OwnedWorld, RoleProcess, StartOptions } from './world.ts';
import { WorldProcesses } from './world-processes.ts';

const REMOVED_MS = 90_000;

export interface WorldParts {
  readonly prepared: PreparedBerth;
  readonly access: KubectlAccess;
  readonly admin: KubeClient;
  readonly database: pg.Pool;
  readonly kubernetes: Tracked<KubernetesProxy>;
  readonly postgres: Tracked<PostgresProxy>;
  readonly hub: Tracked<HubProxy>;
  /** The PostgreSQL of this world alone. Undefined if other worlds use it too. */
  readonly server: LocalPostgres | undefined;
  readonly faults: LastFault;
  /** Address of the API. It stays the same when the process is replaced. */
  readonly apiUrl: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly checkout: string | undefined;
}

export class World implements OwnedWorld {
  readonly name: string;
  readonly #parts: WorldParts;
  readonly #client: BerthClient;
  readonly #processes: WorldProcesses;
  readonly until: BerthClient['until'];
  readonly ready: BerthClient['ready'];
  #acknowledged: Acknowledged[] = [];
  readonly #deletedByHand = new Set<string>();

  constructor(name: string, parts: WorldParts) {
    this.name = name;
    this.#parts = parts;
    this.#client = berthClient(parts.prepared.apiKey, () => parts.apiUrl);
    this.until = (...args) => this.#client.until(...args);
    this.ready = (id) => this.#client.ready(id);
    const { kubernetes, postgres, hub } = this;
    const sql = this.sql.bind(this);
    this.#processes = new WorldProcesses({ ...parts, kubernetes, postgres, hub, sql });
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
    if (server === undefined) throw new Error('failed to control PostgreSQL: other worlds use it too');
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
    const pending = this.#client.call(method, path, body, headers);
    const answer = await (method === 'GET' ? pending : this.#noted(`${method} answered`, pending));
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
    return this.#processes.running();
  }
  process(name: string): RoleProcess {
    return this.#processes.named(name);
  }
  startAll(): Promise<void> {
    return this.#processes.startAll();
  }
  start(role: FaultRole, name?: string, options?: StartOptions): Promise<RoleProcess> {
    return this.#processes.start(role, name, options);
  }
  kill(name: string): Promise<void> {
    return this.#processes.kill(name);
  }
  freeLeases(gone: RoleProcess): Promise<void> {
    return this.#processes.freeLeases(gone);
  }
  restart(name: string, options?: StartOptions): Promise<RoleProcess> {
    return this.#processes.restart(name, options);
  }
  logs(): ReadonlyMap<string, string> {
    return this.#processes.logs();
  }
  takeUnexpectedExits(): readonly string[] {
    return this.#processes.takeUnexpectedExits();
  }

  quiet(options?: { timeoutMs?: number; forMs?: number }): Promise<void> {
    return untilQuiet(this, options);
  }

  begin(): void {
    for (const proxy of [this.kubernetes, this.postgres, this.hub]) proxy.clear();
    this.#acknowledged = [];
    this.#processes.forgetLogs();
    this.failedRules();
    this.#deletedByHand.clear();
    this.#parts.faults.begin();
    forgetMarks(this);
  }

  failedRules(): readonly string[] {
    return [this.kubernetes, this.postgres, this.hub].flatMap((proxy) =>
      proxy.takeFailures().map(({ message }) => message),
    );
  }

  lastFault(): Fault {
    return this.#parts.faults.last;
  }

  deletedByHand(): ReadonlySet<string> {
    return this.#deletedByHand;
  }

  async reset(): Promise<void> {
    for (const { removeRules } of [this.#parts.kubernetes, this.#parts.postgres, this.#parts.hub])
      removeRules();
    await this.#processes.reset();
    await this.#removeDeployments();
  }

  /** Deletes all deployments, and waits until the database and the cluster contain no deployment. */
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
      { timeoutMs: REMOVED_MS, intervalMs: 200 },
    );
    // Otherwise the next inventory purges these deployments again, while a later plan is expected to be at rest.
    await this.sql('UPDATE tombstones SET look_again_at = NULL WHERE NOT due');
  }

  async stop(): Promise<void> {
    await this.#processes.end();
    const { admin, database, prepared } = this.#parts;
    await Promise.allSettled([this.kubernetes, this.postgres, this.hub].map((proxy) => proxy.stop()));
    await admin.close();
    await database.end();
    // Gives PostgreSQL a moment to end the connections of killed processes before the database is dropped.
    await sleep(0);
    await prepared.remove();
  }
}
