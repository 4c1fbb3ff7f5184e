import { CLIENT_COMMANDS } from './client/commands.ts';
import type { CommandRow, CommandTree } from './command/row.ts';
import { OTHER_COMMANDS } from './completion/commands.ts';
import { SERVER_COMMANDS, type ServerCommandName } from './server-commands.ts';

/** Every command of the first level, in the order of the help. A module is loaded when its command runs. */

/** Modules with several commands. */
const roles = () => import('./admin/roles.ts');
const maintenance = () => import('./admin/maintenance.ts');

const LOAD: Readonly<Record<ServerCommandName, CommandRow['load']>> = {
  api: async () => (await roles()).buildApi,
  listener: async () => (await roles()).buildListener,
  operator: async () => (await roles()).buildOperator,
  all: async () => (await roles()).buildAll,
  migrate: async () => (await roles()).buildMigrate,
  'build-step': async () => (await import('./admin/build-step.ts')).buildBuildStep,
  keys: async () => (await import('./admin/keys.ts')).buildKeys,
  tracing: async () => (await maintenance()).buildTracing,
  export: async () => (await maintenance()).buildExport,
  'upgrade-preview': async () => (await maintenance()).buildUpgradePreview,
  config: async () => (await roles()).buildConfig,
};

export const COMMANDS: readonly CommandRow[] = [
  ...CLIENT_COMMANDS,
  ...SERVER_COMMANDS.map((row) => ({ ...row, load: LOAD[row.name] })),
  ...OTHER_COMMANDS,
];

export const BERTH: CommandTree = {
  rows: COMMANDS,
  details: `Settings of the server are environment variables: berth config --help lists all of them, and berth COMMAND --help those
of a role. Commands for users of the API need a context (berth login), or BERTH_URL and BERTH_API_KEY.`,
};
