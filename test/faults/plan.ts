/** Types of a fault plan: one fault in one situation, and its verdict. */
import type { FaultWorld } from './world.ts';

/** Rows of the fault matrix; `--only KIND` takes one. */
export const PLAN_KINDS = [
  'kill',
  'lost-response',
  'api-server-down',
  'watch',
  'stale-list',
  'status-codes',
  'postgres',
  'notify',
  'two-of-each',
  'deletion',
  'burst',
  'kubectl',
  'immutable',
  'tasks',
  'load',
  'sigterm',
  'walk',
  'soak',
] as const;
export type PlanKind = (typeof PLAN_KINDS)[number];

/** Oracles of docs/reliability.md, by number. `plan` stands for the checks of the plan itself. */
export type OracleName = 'O1' | 'O2' | 'O3' | 'O4' | 'O5' | 'O6' | 'O7' | 'O8' | 'O9' | 'plan';

/** An oracle that did not hold. */
export interface Violation {
  readonly oracle: OracleName;
  /** One line: what was expected, what was found. */
  readonly message: string;
  /** Lines of a diff of states, where there are two. */
  readonly diff?: readonly string[];
  /** The last output of the processes, if the plan did not complete. */
  readonly logs?: readonly string[];
}

/** The state of a workload between its steps. Some workloads add members. */
export interface Given {
  /** Id of the deployment that the workload changes. Undefined before the deployment is created. */
  readonly id?: string;
}

/** A change of Berth that can run with a fault and without. Both runs must end in the same state. */
export interface Workload {
  /** Unique. The run without a fault is stored under this name. */
  readonly name: string;
  /** Creates the initial situation, without a fault. */
  prepare(world: FaultWorld): Promise<Given>;
  /** Makes the change, with a client that retries until it gets a response (retrying-client.ts). */
  run(world: FaultWorld, given: Given): Promise<Given>;
  /** Resolves when the effects of the change are complete. */
  end(world: FaultWorld, given: Given): Promise<void>;
}

/** The kind of a plan is the first part of its name. */
export const kindOf = ({ name }: Pick<FaultPlan, 'name'>) => name.split('/')[0] as PlanKind;

export interface FaultPlan {
  /** Unique, kebab-case, its kind first: `kill/update/apply-deployment-3/after-send`. */
  readonly name: string;
  /** One sentence: which fault, where, and what is checked. */
  readonly says: string;
  /** Part of the subset that `npm test` runs (together at most 5 minutes). */
  readonly inSubset?: boolean;
  /**
   * The workload of the plan, if it has one. Final state, creations and deletions are compared with a run of this workload
   * without a fault (O1, O2). Without a workload, O1 compares the cluster with the desired state of each record, and O2
   * requires that no desired object was deleted, except by the plan itself (with kubectl).
   */
  readonly like?: Workload;
  /** Why the fault may cause more creations or deletions than the run without it. If set, O2 works as without `like`. */
  readonly countsDiffer?: string;
  /** Kinds of objects that the changes of the plan itself delete and create again (O2). */
  readonly recreates?: readonly string[];
  /** Whether the plan removes the status of a custom resource. Its observed generation then goes back to the default -1 (O3). */
  readonly removesStatus?: boolean;
  /** Limit of O1 from the last fault on, for faults that are noticed late by design (plans.ts). Default 30. */
  readonly convergesWithinSeconds?: number;
  /** After this time the plan counts as hanging. Default 180. */
  readonly deadlineSeconds?: number;
  /** Environment variables of all three processes. Only plans with equal settings share a world. */
  readonly settings?: Readonly<Record<string, string>>;
  /** How long O5 lasts. It is longer in one plan of each kind (plans.ts). Default 5. */
  readonly quietSeconds?: number;
  /** Whether the plan stops and starts PostgreSQL (`world.server`). Its world then has its own server. */
  readonly ownPostgres?: boolean;
  /** Whether the plan has its own world and oracles. The runner then gives it no world, and checks no oracles. */
  readonly apart?: boolean;
  /** Whether no other plan may run at the same time, because the plan needs the whole machine. Default: false. */
  readonly alone?: boolean;
  /** Creates the situation and the fault, and waits for its end. Then the runner checks the general oracles. */
  run(world: FaultWorld, addFigure: AddFigure): Promise<readonly Violation[]>;
}

/** Adds one line with a measured value. It is printed with the verdict, and results in docs/reliability.md contain it. */
export type AddFigure = (line: string) => void;

export interface Verdict {
  readonly plan: string;
  readonly kind: PlanKind;
  readonly held: boolean;
  /** The first one is printed. */
  readonly violations: readonly Violation[];
  /** Measured values, one line each. */
  readonly figures: readonly string[];
  readonly seconds: number;
}
