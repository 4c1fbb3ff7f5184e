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
  'load',
  'sigterm',
  'walk',
  'soak',
] as const;
export type PlanKind = (typeof PLAN_KINDS)[number];

/** Oracles of the design, by number; `plan` is what only this plan asks for. */
export type OracleName = 'O1' | 'O2' | 'O3' | 'O4' | 'O5' | 'O6' | 'O7' | 'O8' | 'plan';

/** An oracle that did not hold. */
export interface Violation {
  readonly oracle: OracleName;
  /** One line: what was expected, what was found. */
  readonly message: string;
  /** Lines of a diff of states, where there are two. */
  readonly diff?: readonly string[];
  /** What the processes said last, where the plan did not come to its end. */
  readonly logs?: readonly string[];
}

/** What a workload has made so far; its own matter but for the deployment. */
export interface Given {
  /** Of the deployment that it is about; undefined before it is made. */
  readonly id?: string;
}

/** Something done to Berth that can be done with a fault in its way and without: both have to end alike. */
export interface Workload {
  /** Unique: its run without a fault is kept under this name. */
  readonly name: string;
  /** Brings about the situation in which it begins; no fault yet. */
  prepare(world: FaultWorld): Promise<Given>;
  /** The change, made by a client that retries until it gets an answer (retrying-client.ts). */
  run(world: FaultWorld, given: Given): Promise<Given>;
  /** Resolves when it has come to its end. */
  end(world: FaultWorld, given: Given): Promise<void>;
}

/** The kind of a plan is the first part of its name. */
export const kindOf = ({ name }: Pick<FaultPlan, 'name'>) => name.split('/')[0] as PlanKind;

export interface FaultPlan {
  /** Unique, kebab-case, its kind first: `kill/update/apply-deployment-3/after-send`. */
  readonly name: string;
  /** One sentence: which fault, where, and what is looked at. */
  readonly says: string;
  /** Part of the subset that `npm test` runs (together at most 5 minutes). */
  readonly inSubset?: boolean;
  /**
   * Its workload, if it has one: what is there in the end, and what was created and deleted on the way, is compared with
   * a run of this workload without a fault (O1, O2). Without one, O1 compares what is there with what would be made of
   * the record now, and O2 asks that nothing was deleted that was wanted, but by the plan itself (with kubectl).
   */
  readonly like?: Workload;
  /** Where a fault may make more creations or deletions than its fault-free run has: says why. O2 is then as without `like`. */
  readonly countsDiffer?: string;
  /** Kinds of what changes of the plan itself take away and bring back (O2). */
  readonly recreates?: readonly string[];
  /** Where a fault is noticed late by design (plans.ts): the bound of O1, from the last fault on; default 30. */
  readonly convergesWithinSeconds?: number;
  /** Until it is broken as hanging; default 180. */
  readonly deadlineSeconds?: number;
  /** Settings of all three processes; its world is shared only with plans of the same settings. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Of O5, in the one plan of its kind that looks for longer (plans.ts); default 5. */
  readonly quietSeconds?: number;
  /** Stops and starts PostgreSQL (`world.server`): its world has a server of its own. */
  readonly ownPostgres?: boolean;
  /** Brings world and oracles of its own: the runner gives it none, and looks at nothing after it. */
  readonly apart?: boolean;
  /** Needs processes or a cluster of its own, so that nothing else may run beside it. Default: false. */
  readonly alone?: boolean;
  /** Brings about the situation and the fault, and awaits its end; general oracles are looked at by the runner after it. */
  run(world: FaultWorld, tell: AddFigure): Promise<readonly Violation[]>;
}

/** Takes a line of what was measured: it is told with the verdict, and stands in docs/reliability.md. */
export type AddFigure = (line: string) => void;

export interface Verdict {
  readonly plan: string;
  readonly kind: PlanKind;
  readonly held: boolean;
  /** The first is what is told. */
  readonly violations: readonly Violation[];
  /** What the plan has measured, a line each. */
  readonly figures: readonly string[];
  readonly seconds: number;
}
