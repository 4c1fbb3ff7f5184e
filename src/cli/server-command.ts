/** Commands for administrators of the platform: roles, migrations, keys. */
import { readFileSync } from 'node:fs';
import { createLogger } from '../app/logging.ts';
import { ROLES, type Role, runRoles } from '../app/roles.ts';
import { type Config, ConfigError, describeConfig, describeUnknown, loadConfig } from '../config/index.ts';
import { DOCTOR_HELP, HELP, roleHelp, settingsHelp } from './help.ts';
import { UsageError } from './usage-error.ts';

const version = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
).version;

/** The settings of a one-shot command. Unknown settings are reported on standard error. */
function settingsOfCommand(): Config {
  const config = loadConfig();
  for (const setting of config.unknownSettings) console.error(`berth: ${describeUnknown(setting)}`);
  return config;
}

async function migrateCommand(config: Config): Promise<void> {
  if (config.databaseUrl === null)
    throw new UsageError('DATABASE_URL is not set: it names the database to migrate');
  const { migrate } = await import('../hub/store/core/migrate.ts');
  await migrate(config.databaseUrl, createLogger(config.logLevel));
}

/** For commands without arguments: an unexpected argument is an error. */
function alone(run: () => Promise<void> | void): (args: readonly string[]) => Promise<void> | void {
  return ([unexpected]) => {
    if (unexpected !== undefined) throw new UsageError(`"${unexpected}" is not expected here`);
    return run();
  };
}

/** The commands, with their arguments. */
const COMMANDS: Readonly<Record<string, (args: readonly string[]) => Promise<void> | void>> = {
  ...Object.fromEntries(
    ROLES.map((role: Role) => [role, alone(() => runRoles(role, loadConfig(), version))]),
  ),
  listener: async (args) => {
    if (args[0] !== 'doctor') return alone(() => runRoles('listener', loadConfig(), version))(args);
    const { doctorCommand } = await import('./doctor-command.ts');
    process.exitCode = await doctorCommand(args.slice(1), version);
  },
  migrate: alone(() => migrateCommand(settingsOfCommand())),
  keys: async (args) => {
    const { keysCommand } = await import('./keys-command.ts');
    await keysCommand(settingsOfCommand(), createLogger('warn'), args);
  },
  tracing: async (args) => {
    const { tracingCommand } = await import('./tracing-command.ts');
    await tracingCommand(settingsOfCommand(), createLogger('warn'), args);
  },
  export: async (args) => {
    const { exportCommand } = await import('./export-command.ts');
    await exportCommand(args, version);
  },
  'upgrade-preview': async (args) => {
    const { upgradePreviewCommand } = await import('./upgrade-preview-command.ts');
    process.exitCode = await upgradePreviewCommand(settingsOfCommand(), createLogger('warn'), args, version);
  },
  'build-step': async (args) => {
    const { buildStepCommand } = await import('./build-step-command.ts');
    process.exitCode = await buildStepCommand(args);
  },
  config: alone(() => console.log(describeConfig().join('\n'))),
  version: alone(() => console.log(version)),
};

const HELPS: Readonly<Record<string, (args: readonly string[]) => Promise<string> | string>> = {
  ...Object.fromEntries(ROLES.map((role: Role) => [role, () => roleHelp(role)])),
  listener: ([word]) => (word === 'doctor' ? DOCTOR_HELP : roleHelp('listener')),
  keys: async () => (await import('./keys-command.ts')).KEYS_HELP,
  tracing: async () => (await import('./tracing-command.ts')).TRACING_HELP,
  export: async () => (await import('./export-command.ts')).EXPORT_HELP,
  'upgrade-preview': async () => (await import('./upgrade-preview-command.ts')).UPGRADE_PREVIEW_HELP,
  'build-step': async (args) => (await import('./build-step-command.ts')).buildStepHelp(args),
  config: settingsHelp,
};

async function main([name, ...args]: readonly string[]): Promise<void> {
  const command = name === undefined ? undefined : COMMANDS[name];
  const wantsHelp =
    name === undefined || [name, ...args].some((word) => word === '--help' || word === 'help');
  if (wantsHelp) console.log((await HELPS[name ?? '']?.(args)) ?? HELP);
  else if (command === undefined) throw new UsageError(`"${name}" is not a command`);
  else await command(args);
}

/** The next step for errors of lower layers, which do not name a next step. */
const NEXT_STEPS: readonly (readonly [RegExp, string])[] = [
  [/PostgreSQL|failed to run a statement/, 'check that PostgreSQL runs and that DATABASE_URL is correct'],
  [/kubeconfig/, 'set KUBECONFIG to a kubeconfig that exists and can be read'],
];

function withNextStep(message: string): string {
  if (message.includes('next:')) return message;
  const step = NEXT_STEPS.find(([pattern]) => pattern.test(message))?.[1];
  return step === undefined ? message : `${message}; next: ${step}`;
}

const isWrongOption = (error: unknown): boolean =>
  (error as { code?: string } | null)?.code?.startsWith('ERR_PARSE_ARGS') === true;

/** Node's message about an option, as one line without its advice on positional arguments. */
const optionMessage = ({ message }: Error) => message.split(/\. |\n/, 1)[0];

/** Errors with a next step are printed without a stack. All other errors are bugs and are printed with a stack. */
function describe(error: unknown, [command = '', word]: readonly string[]): string {
  const named = command === 'listener' && word === 'doctor' ? 'listener doctor' : command;
  const page = Object.hasOwn(HELPS, command) ? `berth ${named} --help` : 'berth --help';
  if (error instanceof UsageError) return `berth: ${error.message}; see ${page}`;
  if (error instanceof ConfigError) return `berth: ${error.message}\nsee: berth config --help`;
  if (!(error instanceof Error)) return `berth: ${String(error)}`;
  if (isWrongOption(error)) return `berth: ${optionMessage(error)}; see ${page}`;
  return error.message.startsWith('failed to ')
    ? `berth: ${withNextStep(error.message)}`
    : `berth: ${error.stack ?? error.message}`;
}

function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return error.exitCode;
  return isWrongOption(error) ? 2 : 1;
}

/** Runs a command, and prints a failure to standard error. Returns the exit code: 2 for wrong arguments. */
export async function serverCommand(words: readonly string[]): Promise<number> {
  try {
    await main(words);
    return Number(process.exitCode ?? 0);
  } catch (error) {
    console.error(describe(error, words));
    return exitCodeOf(error);
  }
}
