import type { LoggedComponent, Task } from './types.ts';

/** The components of a deployment, as choices of fields. */

export type TaskComponent = Task['component'];
/** Every component that can run commands. A missing one is a type error. */
const RUNS_COMMANDS: Readonly<Record<TaskComponent, true>> = {
  api: true,
  queue: true,
  orchestrator: true,
  executor: true,
};
export const TASK_COMPONENTS = Object.keys(RUNS_COMMANDS) as readonly TaskComponent[];

/** Those that have logs and run no commands. A missing one is a type error. */
const ONLY_LOGS: Readonly<Record<Exclude<LoggedComponent, TaskComponent>, true>> = {
  database: true,
  cache: true,
};
export const LOGGED_COMPONENTS: readonly LoggedComponent[] = [
  ...TASK_COMPONENTS,
  ...(Object.keys(ONLY_LOGS) as Exclude<LoggedComponent, TaskComponent>[]),
];
