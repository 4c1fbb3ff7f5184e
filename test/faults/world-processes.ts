/** The processes of a world. Each has its own ports and its own name at the proxies. */
import { join } from 'node:path';
import type { KubeClient } from '../../src/cluster/kube/client/client.ts';
import { RESOURCES } from '../../src/cluster/kube/client/resources.ts';
import { logPath } from '../cluster/processes.ts';
import { inClusterSettings } from '../installation/in-cluster.ts';
import { logSize, logText } from '../installation/log-file.ts';
import type { PreparedBerth } from '../integration/harness/berth-setup.ts';
import type { LastFault } from './oracles/last-fault.ts';
import type { HubProxy } from './proxies/hub-traffic.ts';
import type { KubernetesProxy } from './proxies/kubernetes-traffic.ts';
import type { PostgresProxy } from './proxies/postgres-traffic.ts';
import { endedByItself, startRole, untilReady } from './role-process.ts';
import type { FaultRole, FaultWorld, RoleProcess, StartOptions } from './world.ts';

/** The roles, in the order in which data passes them. */
const ROLES: readonly FaultRole[] = ['api', 'operator', 'listener'];
const LEASE = 'berth-operator';

const isRole = (name: string) => ROLES.includes(name as FaultRole);

/** What a process needs to start, and where its leases are. */
export interface ProcessParts {
  readonly prepared: PreparedBerth;
  readonly admin: KubeClient;
  readonly sql: FaultWorld['sql'];
  readonly kubernetes: KubernetesProxy;
  readonly postgres: PostgresProxy;
  readonly hub: HubProxy;
  readonly faults: LastFault;
  /** Address of the API. It stays the same when the process is replaced. */
  readonly apiUrl: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly checkout: string | undefined;
}

/** Starts, stops and observes the processes of a world. */
export class WorldProcesses {
  readonly #parts: ProcessParts;
  readonly #processes = new Map<string, RoleProcess>();
  readonly #logsFrom = new Map<string, number>();
  readonly #died: string[] = [];
  #isEnding = false;

  constructor(parts: ProcessParts) {
    this.#parts = parts;
  }

  get #stateDir(): string {
    return this.#parts.prepared.stateDir;
  }

  running(): readonly RoleProcess[] {
    return [...this.#processes.values()].filter((process) => process.isRunning());
  }

  /** The running process with this name. @throws Error if it is not running */
  named(name: string): RoleProcess {
    const found = this.#processes.get(name);
    if (found?.isRunning() !== true) throw new Error(`${name} is not running`);
    return found;
  }

  /** Starts the API first, because the others need it, and then the others in parallel. Resolves when all are ready. */
  async startAll(): Promise<void> {
    for (const role of ROLES) await this.start(role, role, { wait: role === 'api' });
    await Promise.all(this.running().map((started) => untilReady(started, this.#stateDir)));
  }

  async start(role: FaultRole, name: string = role, options: StartOptions = {}): Promise<RoleProcess> {
    if (this.#processes.get(name)?.isRunning() === true) throw new Error(`${name} is running already`);
    const stateDir = this.#stateDir;
    const { checkout, faults } = this.#parts;
    const settings = {
      ...this.#parts.settings,
      ...(await this.#proxySettings(role, name)),
      ...options.settings,
    };
    this.#assertNotEnding(name);
    const process = await startRole({ stateDir, role, name, settings, checkout });
    const sent = new Set<string>();
    const started: RoleProcess = {
      ...process,
      signal: (signal) => {
        sent.add(signal);
        this.#signal(process, signal);
      },
    };
    void process.ended.then((end) => {
      const why = endedByItself(end, sent);
      if (why !== undefined) this.#died.push(`${name} ${why}`);
    });
    this.#processes.set(name, started);
    faults.note(`${name} started`);
    if (this.#isEnding) started.signal('SIGKILL');
    this.#assertNotEnding(name);
    if (options.wait ?? true) {
      await untilReady(started, stateDir);
      faults.note(`${name} ready`);
    }
    return started;
  }

  #signal({ name, signal: send }: RoleProcess, signal: Parameters<RoleProcess['signal']>[0]): void {
    this.#parts.faults.note(`${signal} to ${name}`);
    send(signal);
  }

  /** A plan continues to run after its deadline. A process that it starts then would never be stopped. */
  #assertNotEnding(name: string): void {
    if (this.#isEnding) throw new Error(`failed to start ${name}: the world is stopping`);
  }

  /** Settings by which a process uses its own ports of the proxies. */
  async #proxySettings(role: FaultRole, name: string): Promise<Record<string, string>> {
    const { prepared, apiUrl, kubernetes, postgres, hub } = this.#parts;
    const { settings } = prepared;
    if (role === 'api') {
      const url = await postgres.urlFor(name, settings['DATABASE_URL'] ?? '');
      // A second API process listens on a free port.
      return { DATABASE_URL: url, BERTH_PORT: name === 'api' ? new URL(apiUrl).port : '0' };
    }
    const setting = role === 'operator' ? 'BERTH_OPERATOR_KUBECONFIG' : 'BERTH_LISTENER_KUBECONFIG';
    const kubeconfig = await kubernetes.kubeconfigFor(name, settings[setting] ?? '');
    const proxied = inClusterSettings(kubeconfig, join(prepared.stateDir, `${name}-service-account`));
    return role === 'operator' ? proxied : { ...proxied, BERTH_HUB_URL: await hub.urlFor(name, apiUrl) };
  }

  async kill(name: string): Promise<void> {
    const running = this.named(name);
    running.signal('SIGKILL');
    await running.ended;
  }

  async freeLeases({ pid }: RoleProcess): Promise<void> {
    const { admin, prepared, sql } = this.#parts;
    const isOf = (holder: unknown) => typeof holder === 'string' && holder.includes(`_${pid}_`);
    const at = { namespace: prepared.own, name: LEASE };
    const lease = await admin.find(RESOURCES.Lease, at);
    const spec = (lease?.['spec'] ?? {}) as { holderIdentity?: string };
    if (isOf(spec.holderIdentity)) await admin.patch(RESOURCES.Lease, at, { spec: { holderIdentity: '' } });
    await sql(`UPDATE listeners SET lease_holder = NULL WHERE lease_holder LIKE '%\\_' || $1 || '\\_%'`, [
      String(pid),
    ]);
  }

  async restart(name: string, options?: StartOptions): Promise<RoleProcess> {
    const former = this.#processes.get(name);
    if (former === undefined) throw new Error(`${name} was never started`);
    if (former.isRunning()) await this.kill(name);
    await this.freeLeases(former);
    return this.start(former.role, name, options);
  }

  /** Makes sure that exactly the three roles run. */
  async reset(): Promise<void> {
    for (const running of this.running()) {
      running.signal('SIGCONT');
      if (isRole(running.name)) continue;
      await this.kill(running.name);
      await this.freeLeases(running);
    }
    for (const name of [...this.#processes.keys()]) if (!isRole(name)) this.#processes.delete(name);
    for (const role of ROLES) if (this.#processes.get(role)?.isRunning() !== true) await this.restart(role);
  }

  /** Processes that ended by themselves, each reported once, even if they were restarted. */
  takeUnexpectedExits(): string[] {
    return this.#died.splice(0);
  }

  /** `logs` returns only lines that are written from now on. */
  forgetLogs(): void {
    this.#logsFrom.clear();
    for (const name of this.#processes.keys())
      this.#logsFrom.set(name, logSize(logPath(this.#stateDir, name)));
  }

  #log(name: string, from: number): string {
    return logText(logPath(this.#stateDir, name), from);
  }

  logs(): ReadonlyMap<string, string> {
    const names = [...this.#processes.keys()];
    return new Map(names.map((name) => [name, this.#log(name, this.#logsFrom.get(name) ?? 0)]));
  }

  /** Kills all processes. No process can be started after that. */
  async end(): Promise<void> {
    this.#isEnding = true;
    for (const running of this.running()) running.signal('SIGKILL');
    await Promise.all([...this.#processes.values()].map(({ ended }) => ended));
  }
}
