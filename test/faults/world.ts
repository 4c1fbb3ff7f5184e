/** A complete Berth behind proxies. Each role has its own process, which a plan can kill, stop and start. */
import type { KubeClient } from '../../src/cluster/kube/client/client.ts';
import type { LocalPostgres } from '../cluster/postgres.ts';
import type { Answer, BerthClient, DeploymentAnswer } from '../integration/harness/berth-setup.ts';
import type { Fault } from './oracles/last-fault.ts';
import type { HubProxy } from './proxies/hub-traffic.ts';
import type { KubernetesProxy } from './proxies/kubernetes-traffic.ts';
import type { PostgresProxy } from './proxies/postgres-traffic.ts';

export type FaultRole = 'api' | 'listener' | 'operator';

/** A process of a role. */
export interface RoleProcess {
  readonly role: FaultRole;
  /** Name of the process and of its client at the proxies: `operator`, `operator-2`. */
  readonly name: string;
  readonly pid: number;
  isRunning(): boolean;
  signal(signal: 'SIGKILL' | 'SIGTERM' | 'SIGSTOP' | 'SIGCONT'): void;
  /** Resolves when the process has ended. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  /** The JSON lines of its log since its start. */
  log(): readonly Readonly<Record<string, unknown>>[];
  /** Its complete output since its start. */
  logText(): string;
}

/** Options of a process start. */
export interface StartOptions {
  /** Whether the call waits until the process is ready. Default: true. */
  wait?: boolean;
  /** Additional settings for this process. */
  settings?: Readonly<Record<string, string>>;
}

/** A write that the API has accepted, with its response. */
export interface Acknowledged {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly answer: Answer<DeploymentAnswer | null>;
}

/** The world as a plan sees it. */
export interface FaultWorld extends BerthClient {
  readonly tenantId: string;
  readonly apiKey: string;
  /** Namespace of the workloads. */
  readonly namespace: string;
  /** Berth's own namespace, where its leases are. */
  readonly ownNamespace: string;
  /** Address of the API, without a proxy. */
  readonly apiUrl: string;
  /** The proxy in front of the API server. The runner removes the rules of a plan and ends its cuts. */
  readonly kubernetes: KubernetesProxy;
  readonly postgres: PostgresProxy;
  /** The proxy between listener and API. */
  readonly hub: HubProxy;
  /** The PostgreSQL of this world. @throws Error unless the plan has `ownPostgres` */
  readonly server: Pick<LocalPostgres, 'stopServer' | 'startServer'>;
  /** Client with administrator rights, without a proxy. */
  readonly admin: KubeClient;
  /** Runs kubectl as administrator in `namespace`, without a proxy. */
  kubectl(...args: string[]): Promise<string>;
  /** Runs SQL as administrator, without a proxy. */
  sql<T>(text: string, values?: readonly unknown[]): Promise<readonly T[]>;
  /** Writes by `call` that got a 2xx status since the plan began, in order. */
  acknowledged(): readonly Acknowledged[];
  /** The running process with this name. @throws Error if it is not running */
  process(name: string): RoleProcess;
  /** All running processes. */
  processes(): readonly RoleProcess[];
  /** Starts a role behind the proxies. @throws Error if a process with this name is running */
  start(role: FaultRole, name?: string, options?: StartOptions): Promise<RoleProcess>;
  /** Sends SIGKILL, and resolves when the process has ended. */
  kill(name: string): Promise<void>;
  /**
   * Releases the leases of an ended process as if they had expired, so that its successor does not wait for 15 s. Plans that
   * test leases do not use this.
   */
  freeLeases(gone: RoleProcess): Promise<void>;
  /** Kills the process if it still runs, releases its leases and starts it again. */
  restart(name: string, options?: StartOptions): Promise<RoleProcess>;
  /** Resolves when only heartbeats have passed the proxies for `forMs` (5,000). @throws Error with the last requests */
  quiet(options?: { timeoutMs?: number; forMs?: number }): Promise<void>;
}

/** The world as the runner sees it. */
export interface OwnedWorld extends FaultWorld {
  /** Name of the world in this run, for resources that worlds share. */
  readonly name: string;
  /** Folder with the logs of the processes. */
  readonly stateDir: string;
  /** Starts a plan: forgets everything that was recorded before. */
  begin(): void;
  /** Removes rules and cuts, additional processes and all deployments, and starts roles that do not run. */
  reset(): Promise<void>;
  /** Processes that the plan has not ended, each reported once: `api ended by itself, with 1`. */
  takeUnexpectedExits(): readonly string[];
  /** Errors of rules since `begin`, each returned once. A plan with a failed rule may have run without its fault. */
  failedRules(): readonly string[];
  /** The last fault or change since `begin`. The time limit of O1 starts there. */
  lastFault(): Fault;
  /** Objects that the plan has deleted with kubectl since `begin`, such as `services shop-1`. */
  deletedByHand(): ReadonlySet<string>;
  /** Logs of all processes since `begin`, by name. */
  logs(): ReadonlyMap<string, string>;
  stop(): Promise<void>;
}
