import type { TaskComponent } from '../api/components.ts';
import type { Revision } from '../api/types.ts';
import { commandLine } from '../commands/commands.ts';

/** The form of a new task. */

/** What was typed. Empty: the default. */
export interface TaskForm {
  readonly line: string;
  /** Whether a shell reads the line. */
  readonly usesShell: boolean;
  readonly component: TaskComponent | '';
  /** Id of a revision. */
  readonly revision: string;
  /** Seconds. */
  readonly timeout: string;
}

export const EMPTY_FORM: TaskForm = { line: '', usesShell: false, component: '', revision: '', timeout: '' };

export interface TaskRequest {
  readonly command: readonly string[];
  readonly component?: TaskComponent;
  readonly revision_id?: string;
  readonly timeout_seconds?: number;
}

/**
 * The words of a line, with quotes and backslashes as in a shell. Nothing expands, because no shell reads the words.
 * @returns null if a quote is not closed or nothing follows a backslash
 */
export function wordsOf(line: string): readonly string[] | null {
  const token = /'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])|([^\s'"\\]+)|\s+/y;
  const words: string[] = [];
  let word: string | null = null;
  const end = () => {
    if (word !== null) words.push(word);
    word = null;
  };
  while (token.lastIndex < line.length) {
    const found = token.exec(line);
    if (found === null) return null;
    const [, single, double, escaped, plain] = found;
    const part = single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? plain;
    if (part === undefined) end();
    else word = `${word ?? ''}${part}`;
  }
  end();
  return words;
}

/** The command of a form; null: it ends inside of a quote. */
export function commandOf({
  line,
  usesShell,
}: Pick<TaskForm, 'line' | 'usesShell'>): readonly string[] | null {
  if (!usesShell) return wordsOf(line);
  return line.trim() === '' ? [] : ['sh', '-c', line.trim()];
}

/**
 * The body of the request.
 * @throws Error if the command ends inside of a quote
 */
export function requestOf(form: TaskForm): TaskRequest {
  const command = commandOf(form);
  if (command === null) throw new Error('The command ends inside of a quote or after a backslash.');
  const { component, revision, timeout } = form;
  return {
    command,
    ...(component === '' ? {} : { component }),
    ...(revision === '' ? {} : { revision_id: revision }),
    ...(timeout.trim() === '' ? {} : { timeout_seconds: Number(timeout) }),
  };
}

/** The command line that does the same. */
export function runCommand(
  name: string,
  { command, component, revision_id: revision, timeout_seconds: timeout }: TaskRequest,
): string {
  return commandLine(
    ...['berth', 'run'],
    ...(component === undefined ? [] : ['--component', component]),
    ...(revision === undefined ? [] : ['--revision', revision]),
    ...(timeout === undefined ? [] : ['--timeout', String(timeout)]),
    ...[name, '--', ...command],
  );
}

/** The revisions that a task can run, for a field. */
export const revisionChoices = (revisions: readonly Revision[]): readonly (readonly [string, string])[] => [
  ['', 'Active revision'],
  ...revisions.map(({ id, number }) => [id, `Revision ${number}`] as const),
];
