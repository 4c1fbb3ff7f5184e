import type { Command } from 'commander';
import type { Role } from '../../app/roles.ts';
import { command, describe } from '../command/command.ts';
import type { Host } from '../command/host.ts';
import { FORMATS_WITHOUT_NAME, type Format, outputOption, printed } from '../command/output.ts';
import { UsageError } from '../command/usage-error.ts';

/** The roles of the server, and commands that set them up. */

const DETAILS: Readonly<Record<Role, string>> = {
  api: `The API stores the desired state in PostgreSQL. berth migrate creates the tables. The API never connects to a
cluster.`,
  listener: `Applies work from the hub (BERTH_HUB_URL) in the cluster of its kubeconfig, and reports the observed state. Several
processes of one listener can run: one is active, and the others wait to take over.`,
  operator: `Reconciles the ManagedDeployments in the cluster of its kubeconfig with their workloads. The operator needs no hub.
Several processes can run: one is the leader, and the others wait to take over.`,
  all: `For a small installation. The listener needs no hub URL and no key.`,
};

/** Prints the settings after the help. They are loaded only for a help. */
async function showSettings(made: Command, host: Host, role?: Role): Promise<void> {
  if (!host.showsHelp) return;
  const { settingsHelp } = await import('./settings-help.ts');
  made.addHelpText('after', `\n${settingsHelp(role)}`);
}

function buildRole(role: Role) {
  return async (made: Command, host: Host): Promise<void> => {
    describe(made, DETAILS[role]);
    await showSettings(made, host, role);
    made.action(async () => {
      const [{ runRoles }, { loadConfig }] = await Promise.all([
        import('../../app/roles.ts'),
        import('../../config/index.ts'),
      ]);
      await runRoles(role, loadConfig(), host.version);
    });
  };
}

export const buildApi = buildRole('api');
export const buildOperator = buildRole('operator');
export const buildAll = buildRole('all');

const DOCTOR = `Checks the settings of a listener, its hub, its key and its cluster, and prints the next step for each failure. The command
changes nothing, and does not take the lease. Run it where the listener runs, with the same settings.

Exit code: 0 if no check failed (warnings are possible), 1 otherwise.`;

export async function buildListener(made: Command, host: Host): Promise<void> {
  await buildRole('listener')(made, host);
  made.addCommand(
    command(
      'doctor',
      'check everything that a listener needs, and print the next step for each failure',
      DOCTOR,
    )
      .addOption(outputOption(FORMATS_WITHOUT_NAME))
      .action(async ({ output }: { output: Format }) => {
        const { doctorCommand } = await import('./listener-doctor.ts');
        host.exitCode = await doctorCommand(output, host.version);
      }),
  );
}

export async function buildMigrate(made: Command, host: Host): Promise<void> {
  describe(made, 'Needs DATABASE_URL. The API of the previous version can run during the migration.');
  await showSettings(made, host, 'api');
  made.action(async () => {
    const [{ adminSession }, { migrate }, { createLogger }] = await Promise.all([
      import('./session.ts'),
      import('../../hub/store/core/migrate.ts'),
      import('../../app/logging.ts'),
    ]);
    const { config } = adminSession();
    if (config.databaseUrl === null)
      throw new UsageError('DATABASE_URL is not set: it names the database to migrate');
    await migrate(config.databaseUrl, createLogger(config.logLevel));
  });
}

export async function buildConfig(made: Command, host: Host): Promise<void> {
  describe(made, 'Settings are environment variables.');
  await showSettings(made, host);
  made.addOption(outputOption(FORMATS_WITHOUT_NAME)).action(async ({ output }: { output: Format }) => {
    const { describeConfig } = await import('../../config/index.ts');
    const lines = describeConfig();
    const set = lines.filter((line) => !line.startsWith('#'));
    const pairs = set.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]);
    const view = { table: () => lines.join('\n') };
    await printed(output, Object.fromEntries(pairs), view);
  });
}
