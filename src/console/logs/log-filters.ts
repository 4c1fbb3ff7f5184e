import { LOGGED_COMPONENTS } from '../api/components.ts';
import type { LoggedComponent } from '../api/types.ts';
import { idOf, type Search, stringifySearch } from '../app/search.ts';
import { commandLine } from '../commands/commands.ts';

/** The filters of the logs, as they are in the URL. */

export interface LogFilters {
  /** Absent: the output of the pods. */
  readonly source?: 'build';
  readonly component?: LoggedComponent;
  /** Id of a revision. */
  readonly revision?: string;
  readonly container?: string;
  readonly previous?: 'true';
  /** Text that the lines contain. */
  readonly q?: string;
}
export type LogFilterName = keyof LogFilters;

/** The filters of a URL. What the API would reject is left out. */
export function logFiltersOf(search: Search | LogFilters): LogFilters {
  const given: Search = { ...search };
  const all: { [Name in LogFilterName]: LogFilters[Name] | undefined } = {
    source: given['source'] === 'build' ? 'build' : undefined,
    component: LOGGED_COMPONENTS.find((component) => component === given['component']),
    revision: idOf(given['revision']),
    container: given['container'],
    previous: given['previous'] === 'true' ? 'true' : undefined,
    q: given['q'],
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined && value !== ''));
}

/** What is requested. Container and text are chosen from the lines that arrive. */
export interface LogRequest extends Pick<LogFilters, 'source' | 'component' | 'revision' | 'previous'> {
  /** Values of secrets as they were printed. Not in the URL, because someone who opens a link has not asked for them. */
  readonly unmasked?: 'true';
  /** Id of a task, whose output is read instead of that of the deployment. */
  readonly task?: string;
}

/** Whether the request has an answer that continues. The previous run of a container prints nothing more. */
export const isFollowed = ({ source, previous }: LogRequest): boolean =>
  source === 'build' || previous === undefined;

/** Path of the request, without what depends on the lines that were read. */
export function logPath(deploymentId: string, request: LogRequest): string {
  const { source, component, revision, previous, unmasked, task } = request;
  const follow = isFollowed(request) ? 'true' : undefined;
  const deployment = `/v2/deployments/${deploymentId}`;
  if (source === 'build')
    return `${deployment}/revisions/${revision}/build-logs${stringifySearch({ follow })}`;
  const mask = unmasked === undefined ? undefined : 'false';
  if (task !== undefined)
    return `${deployment}/tasks/${task}/logs${stringifySearch({ mask_secrets: mask, follow })}`;
  const query = { component, revision_id: revision, previous, mask_secrets: mask, follow };
  return `${deployment}/logs${stringifySearch(query)}`;
}

/** The command that prints the same. */
export function logCommand(name: string, request: LogRequest): string {
  const { source, component, revision, previous, task } = request;
  if (task !== undefined) return commandLine('berth', 'tasks', 'logs', name, task);
  const follow = isFollowed(request) ? ['--follow'] : [];
  if (source === 'build')
    return commandLine('berth', 'revisions', 'build-logs', name, revision ?? '', ...follow);
  return commandLine(
    'berth',
    'logs',
    name,
    ...(component === undefined ? [] : ['--component', component]),
    ...(revision === undefined ? [] : ['--revision', revision]),
    ...(previous === undefined ? [] : ['--previous']),
    ...follow,
  );
}
