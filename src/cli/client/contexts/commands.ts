import type { Command } from 'commander';
import { command, describe, valueOption } from '../../command/command.ts';
import type { Host } from '../../command/host.ts';
import { FORMATS_WITHOUT_NAME, type Format, outputOption } from '../../command/output.ts';
import { callsApi, guarded } from '../call.ts';
import { choicesOf } from '../choices.ts';
import type { CallOptions } from '../context.ts';
import { YES } from '../terminal/yes.ts';
import type { LoginOptions } from './login.ts';

/** `berth login`, `berth logout`, `berth context …` and `berth whoami`. */

const ROLES = choicesOf<NonNullable<LoginOptions['role']>>({
  viewer: true,
  deployer: true,
  secrets: true,
  tasks: true,
  admin: true,
  platform_admin: true,
});

const LOGIN = `At a terminal, you confirm the login in a browser, and get a token of at most 12 hours. Without a terminal, the API key is
read from standard input.

--api-key asks for an API key at a prompt without echo instead, and --key-file reads it from a file. A key is never an
argument, because every user of the machine can read command lines. --workload exchanges the token of a pipeline in
BERTH_ID_TOKEN or BERTH_ID_TOKEN_FILE for a token of at most 15 minutes. With these variables and BERTH_URL, all commands
exchange the token by themselves, without a login.

Contexts are stored in ~/.config/berth/contexts.json (or below XDG_CONFIG_HOME), which only you can read. The new context
becomes the current context.

BERTH_URL, BERTH_API_KEY, BERTH_ID_TOKEN and BERTH_TENANT_ID take precedence over the current context. --context takes
precedence over them. A stored key or token is sent only to the API that it was stored for, and those of the environment
only to BERTH_URL or --url.`;

const manage = () => import('./manage.ts');

export function buildLogin(made: Command, host: Host): void {
  describe(made, LOGIN)
    .addOption(valueOption('--name <context>', 'name of the context; default: the host of the URL'))
    .addOption(valueOption('--url <url>', 'base URL of the API; default: BERTH_URL'))
    .option('--api-key', 'log in with an API key', false)
    .addOption(valueOption('--key-file <file>', 'file with the API key; - is standard input'))
    .option('--device', 'confirm the login in a browser, also without a terminal', false)
    .option('--workload', 'exchange the token of a pipeline', false)
    .addOption(
      valueOption(
        '--tenant <tenant>',
        'id of the tenant, for callers with several; in a browser also its name',
      ),
    )
    .addOption(
      valueOption('--role <role>', 'role to request in the browser; default: your roles').choices([...ROLES]),
    )
    .action((options: LoginOptions) =>
      guarded(host, async (stopped) => (await import('./login.ts')).login(host, options, stopped)),
    );
}

export function buildLogout(made: Command, host: Host): void {
  describe(made, 'An access token is revoked. An API key stays valid until an admin revokes it.')
    .addOption(valueOption('--context <context>', 'context to remove; default: the current context'))
    .action((options: { context?: string }) =>
      guarded(host, async (stopped) => (await import('./logout.ts')).logout(host, options, stopped)),
    );
}

export function buildContext(made: Command, host: Host): void {
  const NAME = ['<context>', 'name of the context'] as const;
  made
    .addCommand(
      command('list', 'list the contexts, without keys')
        .addOption(outputOption())
        .action(async (options: { output: Format }) => (await manage()).listContexts(host, options)),
    )
    .addCommand(
      command('use', 'make a context the current one')
        .argument(...NAME)
        .action(async (name: string) => (await manage()).useContext(host, name)),
    )
    .addCommand(
      command('delete', 'delete a context and its stored key')
        .argument(...NAME)
        .option(...YES)
        .action((name: string, options: { yes: boolean }) =>
          guarded(host, async () => (await manage()).deleteContext(host, name, options)),
        ),
    );
}

export function buildWhoami(made: Command, host: Host): void {
  callsApi(made, FORMATS_WITHOUT_NAME).action((options: CallOptions) =>
    guarded(host, async (stopped) => (await manage()).whoami(host, options, stopped)),
  );
}
