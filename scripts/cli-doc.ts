import type { Argument, Command, Option } from 'commander';
import { pathOf } from '../src/cli/command/command.ts';
import { FORMATS } from '../src/cli/command/output.ts';
import { COMMANDS } from '../src/cli/commands.ts';
import { SERVER_PLACES } from '../src/cli/package/server-places.ts';
import { cell } from './markdown.ts';

/** docs/cli.md: every command of `berth`, from the tree of commands. */

function places(): string {
  const rows = Object.entries(SERVER_PLACES).map(
    ([name, { where, commandLine }]) => `| \`berth ${name}\` | ${cell(where)} | \`${cell(commandLine)}\` |`,
  );
  return ['| command | it … | command line |', '| --- | --- | --- |', ...rows].join('\n');
}

const HEAD = `# Command line
<!-- npm run docs writes this page. -->
\`berth\` has commands for users of the API, for administrators of the platform, and the roles of the server. \`berth COMMAND --help\`
prints the same text as this page. \`berth api --help\` and the help of the other roles also list their settings, and \`berth config
--help\` lists all settings.

## Installation
\`npm install --global ./berth-cli-VERSION.tgz\` installs the commands for users of the API from a file of the release. It needs Node
22.12 or newer, and no network, because the package contains its dependencies. In a checkout, \`npm run -s berth --\` runs every
command.

The roles of the server and the commands for administrators are only in the image. The package prints where each of them runs:

${places()}

[install.md](install.md#a-kubeconfig-for-commands-in-the-image) describes how to create \`berth.kubeconfig\`. Names of Deployments are those
of a release named \`berth\`. With the profile \`single\`, use \`deploy/berth\`.

The package also contains the typed client for programs: \`import { createClient } from 'berth-cli'\`. Its README has an example.

## Which API a command calls
\`berth login\` gets a token in a browser ([sign-in.md](sign-in.md#log-in-from-a-terminal)) or checks an API key, and stores it with the
URL as a context in \`~/.config/berth/contexts.json\` (or below \`XDG_CONFIG_HOME\`). Only you can read the file. \`berth logout\` revokes the
token and removes the context. \`berth context list\`, \`use\` and \`delete\` manage contexts, and \`berth whoami\` shows
what is used. The order of precedence is:

1. \`--url\`, for the URL only.
2. \`--context NAME\`. The environment is then ignored.
3. \`BERTH_URL\`, \`BERTH_API_KEY\` and \`BERTH_TENANT_ID\`. Instead of a key, a pipeline sets \`BERTH_ID_TOKEN\` or \`BERTH_ID_TOKEN_FILE\`
   ([sign-in.md](sign-in.md#pipelines)).
4. The current context.

A stored key or token is sent only to the API that it was stored for, with the tenant of its context. Keys and tokens of the environment
are sent only to \`BERTH_URL\` or the URL of \`--url\`, never to the URL of a context. A warning is printed if other users can read the
file. \`berth login\` also warns if the URL begins with \`http\` and leads to another machine, because the key or token is then not
encrypted on its way.

## Output, waiting and errors
- \`-o table\` is for people. \`-o json\` and \`-o yaml\` are for programs. \`-o name\` prints the words that other commands accept, one
  for each object: the name, or the id if the name is not unique, such as the name of a deployment that is being deleted.
  Results that no command accepts, such as reports, events and new keys, have no \`-o name\`.
- Values of secrets are masked in every format. Only \`--show-secrets\` of \`berth deployments get\` and \`list\` prints them. Errors do
  not repeat values of unknown options or arguments, which may be secrets.
- Results go to standard output. Progress, questions and errors go to standard error.
- A command that deletes asks for confirmation. \`--yes\` answers the question, and is required if standard input is not a terminal.
- Only commands that can wait accept \`--wait\`. \`berth deploy\` waits by default, and \`--no-wait\` disables the wait. A command that
  creates a revision waits for this revision. If a newer revision replaces it first, or the deployment is deleted, the wait fails.
- Wrong usage is one line on standard error that names the nearest option or command, and the exit code 2. Other errors name the next
  command. An option that would have no effect is wrong usage too, such as \`--yes\` with \`--dry-run\`.

Exit codes of commands that call the API:

| code | meaning |
| --- | --- |
| 0 | success |
| 1 | the API rejected the request, the deployment failed, or the timeout expired |
| 2 | wrong usage |
| 3 | unknown, because the API was not reachable or too busy |
| 130 | interrupted, or the question was not confirmed |
| 141 | the reader of standard output closed it before the command ended |

\`berth diff\` exits with 1 only for a difference, and with 2 or 3 for errors. Other commands exit with 0, 1 for a failure and 2 for
wrong usage, if their section says nothing else.

Options of every command that calls the API:

| option | |
| --- | --- |
| \`-o, --output <format>\` | one of table, json, yaml, name; default: table. Commands with other formats list them. Commands that only print progress, such as \`berth deployments watch\` and most commands that delete, have no formats |
| \`--context <context>\` | name of the context to use |
| \`--url <url>\` | base URL of the API |

## Completion
\`berth completion bash\`, \`zsh\` and \`fish\` print completion scripts. They complete commands, options and their values, files and
folders, and the names of stored contexts. \`berth completion --help\` says how to enable them.
`;

const oneLine = (text: string) => text.replaceAll('\n', ' ').replace(/</g, '\\<');

function table(header: string, rows: readonly (readonly [string, string])[]): string {
  if (rows.length === 0) return '';
  const lines = rows.map(([name, text]) => `| \`${name}\` | ${cell(oneLine(text))} |`);
  return `\n| ${header} | |\n| --- | --- |\n${lines.join('\n')}\n`;
}

const ofArgument = ({ description, argChoices }: Argument) =>
  argChoices === undefined ? description : `${description}: ${argChoices.join(', ')}`;

function ofOption({ description, argChoices, defaultValue, required, mandatory }: Option): string {
  const parts = [
    description,
    ...(argChoices === undefined ? [] : [`one of ${argChoices.join(', ')}`]),
    ...(required && defaultValue !== undefined ? [`default: ${String(defaultValue)}`] : []),
    ...(mandatory ? ['required'] : []),
  ];
  return parts.join('; ');
}

/** Paragraphs of a help as Markdown: indented blocks are quoted as they are. */
function markdown(text: string): string {
  return text
    .split('\n\n')
    .map((paragraph) => (/^ {2}/.test(paragraph) ? `\`\`\`text\n${paragraph}\n\`\`\`` : oneLine(paragraph)))
    .join('\n\n');
}

/** Options that the page describes once. */
const isCommon = ({ long, argChoices }: Option): boolean =>
  ['--help', '--context'].includes(long ?? '') ||
  (long === '--output' && argChoices?.length === FORMATS.length);

function section(command: Command, level: string): string {
  const children = command.commands;
  const help = command.createHelp();
  const title = children.length > 0 ? pathOf(command) : help.commandUsage(command);
  const all = help.visibleOptions(command);
  const callsApi = all.some(({ long }) => long === '--context');
  const options = all.filter((option) => !isCommon(option) && !(callsApi && option.long === '--url'));
  const own = [
    `${level} \`${title}\`\n`,
    `${markdown(command.description())}\n`,
    table(
      'argument',
      command.registeredArguments.map((argument) => [argument.name(), ofArgument(argument)]),
    ),
    table(
      'option',
      options.map((option) => [option.flags, ofOption(option)]),
    ),
  ].join('');
  return [own, ...children.map((child) => section(child, `${level}#`))].join('\n');
}

/** The page. */
export function cliDoc(program: Command): string {
  const groups = [...new Set(COMMANDS.map(({ group }) => group))];
  const parts = groups.map((group) => {
    const names = COMMANDS.filter((row) => row.group === group).map(({ name }) => name);
    const commands = program.commands.filter((command) => names.includes(command.name()));
    return [`## ${group}\n`, ...commands.map((command) => section(command, '###'))].join('\n');
  });
  return `${HEAD}\n${parts.join('\n')}`;
}
