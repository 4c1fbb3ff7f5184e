import type { Command } from 'commander';
import { command, describe, valueOption } from '../../command/command.ts';
import type { Host } from '../../command/host.ts';
import { FORMATS_WITHOUT_NAME, type Format, outputOption } from '../../command/output.ts';
import { callsApi, guarded } from '../call.ts';
import type { CallOptions } from '../context.ts';
import { YES } from '../terminal/yes.ts';
import type { LoginOptions } from './login.ts';

/** `berth login`, `berth context …` and `berth whoami`. */

const LOGIN = `The API key is read from a prompt without echo, from a file, or from standard input. It is never an argument, because every
user of the machine can read command lines. Contexts are stored in ~/.config/berth/contexts.json (or below
XDG_CONFIG_HOME), which only you can read. The new context becomes the current context.

BERTH_URL, BERTH_API_KEY and BERTH_TENANT_ID take precedence over the current context. --context takes precedence over
them. A stored key is sent only to the API that it was stored for, and BERTH_API_KEY only to BERTH_URL or --url.`;

const manage = () => import('./manage.ts');

export function buildLogin(made: Command, host: Host): void {
  describe(made, LOGIN)
    .addOption(valueOption('--name <context>', 'name of the context; default: the host of the URL'))
    .addOption(valueOption('--url <url>', 'base URL of the API; default: BERTH_URL'))
    .addOption(valueOption('--key-file <file>', 'file with the API key; - is standard input'))
    .addOption(valueOption('--tenant <id>', 'id of the tenant, for keys that have access to several'))
    .action((options: LoginOptions) =>
      guarded(host, async (stopped) => (await import('./login.ts')).login(host, options, stopped)),
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
