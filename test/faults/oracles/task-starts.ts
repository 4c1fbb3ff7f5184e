/** O9: how often the command of each task started, according to watches, and whether its final state is what its Job says. */

import { LABELS } from '../../../src/contract/resource/names.ts';
import { APP_CONTAINER_NAME } from '../../../src/domain/deployment/reserved.ts';

/** A task, by the uid of its custom resource. */
export interface SeenTask {
  readonly name: string;
  readonly origin: string;
  /** uid of its ManagedDeployment. */
  readonly ownerUid: string | undefined;
  readonly revision: number | undefined;
  /** Id at the hub. */
  readonly taskId: string | undefined;
}

/** The Job of a task, by its uid. */
export interface SeenJob {
  readonly taskUid: string;
  /** Whether it was ever allowed to run. */
  readonly hasStarted: boolean;
  readonly end: 'Complete' | 'Failed' | undefined;
}

/** A pod of a Job, by its uid. */
export interface SeenPod {
  readonly jobUid: string;
  /** Whether its command ever started. */
  readonly hasStarted: boolean;
}

/** A revision with a release command, by the uid of its ManagedDeployment and its number. */
export interface SeenRelease {
  readonly ownerUid: string;
  readonly name: string;
  readonly number: number;
  readonly wasActive: boolean;
}

export interface SeenStarts {
  readonly tasks: ReadonlyMap<string, SeenTask>;
  readonly jobs: ReadonlyMap<string, SeenJob>;
  readonly pods: ReadonlyMap<string, SeenPod>;
  readonly releases: ReadonlyMap<string, SeenRelease>;
}

/** A task in the database. */
export interface TaskResult {
  readonly id: string;
  readonly name: string;
  readonly resource_uid: string | null;
  readonly state: string;
  readonly ended: boolean;
}

/** One line for each command that started too often or not at all, and for each state that its Job contradicts. Pure. */
export function startProblems(seen: SeenStarts, rows: readonly TaskResult[]): string[] {
  return [...releaseProblems(seen), ...podProblems(seen), ...rows.flatMap((row) => rowProblems(seen, row))];
}

/** Number of the Jobs that have started, of the tasks that fit. */
function startsOf({ tasks, jobs }: SeenStarts, fits: (task: SeenTask, uid: string) => boolean): number {
  return [...jobs.values()].filter(({ taskUid, hasStarted }) => {
    const task = tasks.get(taskUid);
    return hasStarted && task !== undefined && fits(task, taskUid);
  }).length;
}

function releaseProblems(seen: SeenStarts): string[] {
  return [...seen.releases.values()].flatMap(({ ownerUid, name, number, wasActive }) => {
    const starts = startsOf(
      seen,
      (task) => task.origin === 'release' && task.ownerUid === ownerUid && task.revision === number,
    );
    const isRight = wasActive ? starts === 1 : starts <= 1;
    const what = `the release command of ${name} ${number}, which ${wasActive ? 'became' : 'did not become'} active`;
    return isRight ? [] : [`${what}, started ${starts} times`];
  });
}

function podProblems({ tasks, jobs, pods }: SeenStarts): string[] {
  return [...jobs].flatMap(([uid, { taskUid }]) => {
    const starts = [...pods.values()].filter((pod) => pod.jobUid === uid && pod.hasStarted).length;
    return starts <= 1 ? [] : [`${starts} pods of ${tasks.get(taskUid)?.name} started`];
  });
}

function rowProblems(seen: SeenStarts, { id, name, resource_uid: uid, state, ended }: TaskResult): string[] {
  const starts = startsOf(seen, (task, taskUid) => task.taskId === id || taskUid === uid);
  const ends = [...seen.jobs.values()].filter(({ taskUid }) => taskUid === uid).map(({ end }) => end);
  const hasSucceeded = ends.includes('Complete');
  return [
    ...(starts > 1 ? [`the task ${name} started ${starts} times`] : []),
    ...(!ended && ends.some((end) => end !== undefined) ? [`the task ${name} has not ended: ${state}`] : []),
    ...(ended && hasSucceeded !== (state === 'SUCCEEDED')
      ? [`the task ${name} is ${state}, and its Job ended with ${ends.join(', ') || 'nothing'}`]
      : []),
  ];
}

interface Metadata {
  readonly name: string;
  readonly uid?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly { readonly kind: string; readonly uid: string }[];
}
type Loose<Spec, Status> = { readonly metadata: Metadata; readonly spec?: Spec; readonly status?: Status };

export type LooseTask = Loose<{ origin?: string; revision?: number; taskId?: string }, unknown>;
export type LooseJob = Loose<
  { suspend?: boolean },
  { conditions?: { type: string; status: string }[]; startTime?: string }
>;
export type LoosePod = Loose<
  unknown,
  { containerStatuses?: { name: string; state?: { running?: unknown; terminated?: unknown } }[] }
>;
export type LooseDeployment = Loose<
  { revision: { number: number }; podTemplate: { releaseCommand?: string[] } },
  { activeRevision?: { number: number } }
>;

/** Collects what the objects show. A fact that was seen once stays. */
export class StartRecord implements SeenStarts {
  readonly tasks = new Map<string, SeenTask>();
  readonly jobs = new Map<string, SeenJob>();
  readonly pods = new Map<string, SeenPod>();
  readonly releases = new Map<string, SeenRelease>();

  clear(): void {
    for (const known of [this.tasks, this.jobs, this.pods, this.releases]) known.clear();
  }

  noteTask({ metadata, spec = {} }: LooseTask): void {
    const owner = metadata.ownerReferences?.find(({ kind }) => kind === 'ManagedDeployment');
    const { origin = 'custom-resource', revision, taskId } = spec;
    const task = { name: metadata.name, origin, ownerUid: owner?.uid, revision, taskId };
    this.tasks.set(metadata.uid ?? '', task);
  }

  noteJob({ metadata, spec, status }: LooseJob): void {
    const { uid = '', ownerReferences = [] } = metadata;
    const taskUid = ownerReferences.find(({ kind }) => kind === 'DeploymentTask')?.uid;
    if (taskUid === undefined) return;
    const former = this.jobs.get(uid);
    const end = status?.conditions?.find(
      (one) => one.status === 'True' && (one.type === 'Complete' || one.type === 'Failed'),
    )?.type as SeenJob['end'];
    const hasStarted = former?.hasStarted === true || spec?.suspend !== true;
    this.jobs.set(uid, { taskUid, hasStarted, end: end ?? former?.end });
  }

  notePod({ metadata, status }: LoosePod): void {
    const { uid = '', labels = {} } = metadata;
    const jobUid = labels['batch.kubernetes.io/controller-uid'];
    if (jobUid === undefined || labels[LABELS.taskUid] === undefined) return;
    const { state } = status?.containerStatuses?.find(({ name }) => name === APP_CONTAINER_NAME) ?? {};
    const runs = state?.running !== undefined || state?.terminated !== undefined;
    this.pods.set(uid, { jobUid, hasStarted: runs || this.pods.get(uid)?.hasStarted === true });
  }

  noteDeployment({ metadata, spec, status }: LooseDeployment): void {
    const { uid: ownerUid = '', name } = metadata;
    const { number } = spec?.revision ?? { number: 0 };
    const keyOf = (revision: number) => `${ownerUid} ${revision}`;
    if (spec?.podTemplate.releaseCommand !== undefined && !this.releases.has(keyOf(number)))
      this.releases.set(keyOf(number), { ownerUid, name, number, wasActive: false });
    const active = this.releases.get(keyOf(status?.activeRevision?.number ?? 0));
    if (active !== undefined) this.releases.set(keyOf(active.number), { ...active, wasActive: true });
  }
}
