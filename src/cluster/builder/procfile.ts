import { MAX_TERMINATION_BYTES } from '../../contract/resource/build.ts';
import { MAX_PROCESS_BYTES, PROCESS_TYPES, type Procfile } from '../../domain/run-settings/procfile.ts';
import { StepFailure } from './step-failure.ts';

/** Parses the Procfile of a repository: one command for each process type. */

/** Maximum size of a Procfile in bytes. */
export const MAX_PROCFILE_BYTES = 64 * 1024;

/** Space for commit and digest beside the commands in the termination message of the build. */
const RESERVED_BYTES = 512;

const PROCESS = /^([A-Za-z0-9_-]+)[ \t]*:[ \t]*(.*)$/;
/** Control characters other than a tab. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is rejected
const CONTROL = /[\u0000-\u0008\u000a-\u001f\u007f]/;

const KNOWN: readonly string[] = PROCESS_TYPES;
const MAX_SHOWN = 64;

const shown = (text: string) =>
  text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN).toWellFormed()}…`;

interface Line {
  readonly number: number;
  readonly text: string;
}

/** Why a line is not a valid process. null: it is valid. */
function problemOf({ text }: Line, known: ReadonlyMap<string, number>): string | null {
  if (CONTROL.test(text)) return 'has a control character';
  const [, type = '', command = ''] = PROCESS.exec(text) ?? [];
  if (type === '') return `must have the form "name: command", but is "${shown(text)}"`;
  if (!KNOWN.includes(type)) return `"${shown(type)}" is not one of ${KNOWN.join(', ')}`;
  const first = known.get(type);
  if (first !== undefined) return `"${type}" is already defined in line ${first}`;
  if (command === '') return `"${type}" has no command`;
  const size = Buffer.byteLength(command);
  return size <= MAX_PROCESS_BYTES
    ? null
    : `the command of "${type}" has ${size} bytes, more than the limit of ${MAX_PROCESS_BYTES}: move it to a script`;
}

/** Lines with a process: without comments and empty lines. */
function linesOf(content: string): Line[] {
  return content
    .replace(/^\ufeff/, '')
    .split('\n')
    .map((text, index) => ({ number: index + 1, text: text.replace(/\r$/, '').trim() }))
    .filter(({ text }) => text !== '' && !text.startsWith('#'));
}

/**
 * The commands of a Procfile. undefined: it has no command.
 * @param path path of the file, for messages
 * @throws StepFailure BuildConfigInvalid that names the line
 */
export function parseProcfile(path: string, content: Buffer): Procfile | undefined {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch {
    throw new StepFailure('BuildConfigInvalid', `${path} is invalid: it is not UTF-8`);
  }
  const known = new Map<string, number>();
  const commands: Record<string, string> = {};
  for (const line of linesOf(text)) {
    const problem = problemOf(line, known);
    if (problem !== null)
      throw new StepFailure('BuildConfigInvalid', `${path} is invalid: line ${line.number}: ${problem}`);
    const [, type = '', command = ''] = PROCESS.exec(line.text) ?? [];
    known.set(type, line.number);
    commands[type] = command;
  }
  if (known.size === 0) return undefined;
  if (Buffer.byteLength(JSON.stringify(commands)) > MAX_TERMINATION_BYTES - RESERVED_BYTES)
    throw new StepFailure(
      'BuildConfigInvalid',
      `${path} is invalid: its commands are too long together: move them to scripts`,
    );
  return commands;
}
