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
  /** Also the name of its client at the proxies: `operator`, `operator-2`. */
  readonly name: string;
  readonly pid: number;
  isRunning(): boolean;
  signal(signal: 'SIGKILL' | 'SIGTERM' | 'SIGSTOP' | 'SIGCONT'): void;
  /** Resolves when it is gone. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  /** What it has logged as JSON lines since its start. */
  log(): readonly Readonly<Record<string, unknown>>[];
  /** All that it has written since its start, whatever its form. */
  logText(): string;
}

export interface StartOptions {
  /** Default true: resolves when it says that it is ready. */
  wait?: boolean;
  /** Settings of this start. */
  settings?: Readonly<Record<string, string>>;
}

/** A write that the API took: what it was and what it said. */
export interface Acknowledged {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly answer: Answer<DeploymentAnswer | null>;
}

/** What a plan sees and may do. */
export interface FaultWorld extends BerthClient {
  readonly tenantId: string;
  readonly apiKey: string;
  /** Namespace of the workloads. */
  readonly namespace: string;
  /** Berth's own namespace, where its leases are. */
  readonly ownNamespace: string;
  /** Of the API, past the proxies. */
  readonly apiUrl: string;
  /** Rules and cuts that a plan leaves behind are taken back by the runner. */
  readonly kubernetes: KubernetesProxy;
  readonly postgres: PostgresProxy;
  /** Between listener and API. */
  readonly hub: HubProxy;
  /** The PostgreSQL of this world. @throws Error unless the plan has asked for one of its own */
  readonly server: Pick<LocalPostgres, 'stopServer' | 'startServer'>;
  /** As administrator, past the proxy. */
  readonly admin: KubeClient;
  /** kubectl as administrator in `namespace`, past the proxy. */
  kubectl(...args: string[]): Promise<string>;
  /** SQL as administrator, past the proxy. */
  sql<T>(text: string, values?: readonly unknown[]): Promise<readonly T[]>;
  /** Writes of `call` that were answered 2xx since the plan began, in order. */
  acknowledged(): readonly Acknowledged[];
  /** The running process of this name. @throws Error when it is not running */
  process(name: string): RoleProcess;
  /** Every process of the plan that runs now. */
  processes(): readonly RoleProcess[];
  /** Starts a role behind the proxies; its name is its client there. @throws Error when one of that name runs */
  start(role: FaultRole, name?: string, options?: StartOptions): Promise<RoleProcess>;
  /** SIGKILL; resolves when it is gone. */
  kill(name: string): Promise<void>;
  /**
   * Takes the leases from a process that is gone, as if their time had run out: its successor need not wait 15 s.
   * Not for plans whose matter leases are.
   */
  freeLeases(gone: RoleProcess): Promise<void>;
  /** Kills what may still run of that name, frees its leases and starts it again. */
  restart(name: string, options?: StartOptions): Promise<RoleProcess>;
  /** Resolves when nothing but heartbeats has passed the proxies for `forMs` (5,000). @throws Error with who still asks */
  quiet(options?: { timeoutMs?: number; forMs?: number }): Promise<void>;
}

/** The world as the runner has it. */
export interface OwnedWorld extends FaultWorld {
  /** Of the run: for what looks at what is shared. */
  readonly name: string;
  /** Where the processes log. */
  readonly stateDir: string;
  /** Forgets what went before: a plan begins. */
  begin(): void;
  /** Takes back rules and cuts, ends what a plan has started beside the three, starts what is missing, removes all deployments. */
  reset(): Promise<void>;
  /** Processes that have ended though no plan has asked them to, each told once: `api ended by itself, with 1`. */
  takeUnexpectedExits(): readonly string[];
  /** What rules have thrown since `begin`, each told once: a plan whose rules fail has not met its fault. */
  failedRules(): readonly string[];
  /** The last fault or change of the plan since `begin`, whatever it was: from then on Berth has its time. */
  lastFault(): Fault;
  /** What the plan has deleted with kubectl since `begin`, as `services shop-1`. */
  deletedByHand(): ReadonlySet<string>;
  /** Logs of every process since `begin`, by name. */
  logs(): ReadonlyMap<string, string>;
  stop(): Promise<void>;
}
