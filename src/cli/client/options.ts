import { parseArgs } from 'node:util';
import { ClientUsageError } from './context.ts';

/** The options of the client commands. */

const OPTIONS = {
  output: { type: 'string', short: 'o', default: 'table' },
  file: { type: 'string', short: 'f' },
  url: { type: 'string' },
  timeout: { type: 'string', default: '900' },
  status: { type: 'string' },
  'name-contains': { type: 'string' },
  wait: { type: 'boolean', default: false },
  follow: { type: 'boolean', default: false },
  previous: { type: 'boolean', default: false },
  component: { type: 'string' },
  revision: { type: 'string' },
  since: { type: 'string' },
  limit: { type: 'string' },
  'delete-tracing-project': { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;
type Option = keyof typeof OPTIONS;

/** Options of every command. */
const COMMON: readonly Option[] = ['output', 'url', 'help'];
const WAITS: readonly Option[] = ['wait', 'timeout'];

/** Options of each command besides the common options. `logs` is a command without subcommands. */
const TAKEN: Readonly<Record<string, readonly Option[]>> = {
  'deployments list': ['status', 'name-contains'],
  'deployments get': [],
  'deployments create': ['file', ...WAITS],
  'deployments patch': ['file', ...WAITS],
  'deployments delete': ['delete-tracing-project', ...WAITS],
  'deployments watch': ['timeout'],
  'deployments push-token': [],
  'revisions list': [],
  'revisions get': [],
  'revisions explain': [],
  'revisions rollback': WAITS,
  'revisions redeploy': WAITS,
  'revisions build-logs': ['follow'],
  logs: ['component', 'revision', 'since', 'limit', 'follow', 'previous'],
};

const listed = (options: readonly Option[]) =>
  [...options, ...COMMON].map((option) => `--${option}`).join(', ');

/** The command that the arguments name. null: they name no command; another error reports this. */
function commandOf([resource = '', verb = '']: readonly string[]): string | null {
  const command = resource === 'logs' ? resource : `${resource} ${verb}`;
  return Object.hasOwn(TAKEN, command) ? command : null;
}

function refusal(option: string, positionals: readonly string[]): ClientUsageError {
  const command = commandOf(positionals);
  if (command === null)
    return new ClientUsageError(`${option} is not an option of berth ${positionals[0] ?? ''}`);
  return new ClientUsageError(
    `berth ${command} does not have the option ${option}: remove it, or use one of ${listed(TAKEN[command] ?? [])}`,
  );
}

function parse(words: readonly string[], strict: boolean) {
  return parseArgs({ args: [...words], allowPositionals: true, options: OPTIONS, strict, tokens: true });
}

/** The positional arguments, parsed without strict checks. */
const positionalsOf = (words: readonly string[]) => parse(words, false).positionals;

function parseStrictly(words: readonly string[]) {
  try {
    return parseArgs({ args: [...words], allowPositionals: true, options: OPTIONS, tokens: true });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const [, option] = /'(-[^']+)'/.exec(message) ?? [];
    if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' && option !== undefined)
      throw refusal(option, positionalsOf(words));
    throw new ClientUsageError(message.replace(/\s*\n\s*/g, ' '));
  }
}

/**
 * Parses the arguments of a command.
 * @throws ClientUsageError for an option that the command does not have
 */
export function readWords(words: readonly string[]) {
  const { values, positionals, tokens } = parseStrictly(words);
  const command = commandOf(positionals);
  if (command !== null && !values.help) {
    const taken: readonly string[] = [...COMMON, ...(TAKEN[command] ?? [])];
    const given = tokens.flatMap((token) => (token.kind === 'option' ? [token] : []));
    const unknown = given.find(({ name }) => !taken.includes(name));
    if (unknown !== undefined) throw refusal(unknown.rawName, positionals);
  }
  return { values, positionals };
}
