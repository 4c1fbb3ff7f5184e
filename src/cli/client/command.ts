import { ApiProblem, isPassing } from './call-problem.ts';
import { createClient } from './client.ts';
import { ClientUsageError, type Context, FORMATS, type Format } from './context.ts';
import { DEPLOYMENTS_HELP, type DeploymentOptions, deploymentsCommand } from './deployments-command.ts';
import { LOGS_HELP, logsCommand } from './logs-command.ts';
import { readWords } from './options.ts';
import { REVISIONS_HELP, revisionsCommand } from './revisions-command.ts';
import type { Outcome } from './watch.ts';

/** The command line for API users. */

/**
 * Settings from the environment. The key is never a command-line argument, because every user of the machine can read
 * command lines.
 */
export interface ClientSettings {
  readonly url: string | undefined;
  readonly apiKey: string | undefined;
  readonly tenantId: string | undefined;
}

/** Exit codes. Scripts depend on these exit codes. */
const EXIT = { reached: 0, failed: 1, usage: 2, unknown: 3, interrupted: 130 } as const;

const OPTIONS_HELP = `
Options of all these commands:
  -o, --output table|json|yaml   default: table, with secrets masked
  --url URL                      base URL of the API; default: BERTH_URL

Options of create, patch, delete, rollback, redeploy (and --timeout of watch):
  --wait                         wait until the deployment is READY, has failed or is deleted
  --timeout SECONDS              timeout, default: 900. The rollout continues after the timeout

Unknown options are an error.

BERTH_API_KEY is the API key. BERTH_TENANT_ID selects the tenant, for keys that have access to several.
Exit codes: 0 success; 1 the API rejected the request, the deployment failed, or the timeout expired; 2 wrong usage;
3 unknown, because the API was not reachable or too busy; 130 interrupted.`;

const HELPS: Readonly<Record<string, string>> = {
  deployments: DEPLOYMENTS_HELP,
  revisions: REVISIONS_HELP,
  logs: LOGS_HELP,
};

function formatOf(word: string): Format {
  const format = FORMATS.find((known) => known === word);
  if (format === undefined) throw new ClientUsageError(`-o must be one of ${FORMATS.join(', ')}`);
  return format;
}

/** The longest timer of Node, about 24 days. */
const MAX_SECONDS = 2_147_483;

function secondsOf(word: string): number {
  const seconds = Number(word);
  if (!Number.isFinite(seconds) || seconds <= 0 || seconds > MAX_SECONDS)
    throw new ClientUsageError(`--timeout must be a number of seconds above 0, and at most ${MAX_SECONDS}`);
  return seconds;
}

function baseUrl(given: string | undefined): string {
  if (given === undefined || given === '')
    throw new ClientUsageError('BERTH_URL is not set: set it to the URL of the API, or use --url URL');
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol))
    throw new ClientUsageError('the URL of the API (BERTH_URL, --url) must be an http or https URL');
  return given;
}

/** Valid characters of a header: visible ASCII. */
const HEADER_VALUE = /^[\x21-\x7e]+$/;

/** @throws ClientUsageError without the value, because it may contain a key */
function headerValue(variable: string, value: string): string {
  if (!HEADER_VALUE.test(value))
    throw new ClientUsageError(
      `${variable} contains characters that are not visible ASCII: check that it was copied correctly`,
    );
  return value;
}

function contextFrom(
  values: ReturnType<typeof readWords>['values'],
  settings: ClientSettings,
  stopped: AbortSignal,
): Context {
  const format = formatOf(values.output);
  const url = baseUrl(values.url ?? settings.url);
  if (settings.apiKey === undefined || settings.apiKey === '')
    throw new ClientUsageError('BERTH_API_KEY is not set: every call needs a key');
  const apiKey = headerValue('BERTH_API_KEY', settings.apiKey);
  const tenantId = settings.tenantId ? headerValue('BERTH_TENANT_ID', settings.tenantId) : null;
  return {
    client: createClient({ url, apiKey, tenantId, stopped }),
    format,
    follow: values.follow,
    print: (text) => console.log(text),
    note: (text) => console.error(text),
    stopped,
  };
}

async function run(
  words: readonly string[],
  settings: ClientSettings,
  stopped: AbortSignal,
): Promise<Outcome['end']> {
  const { values, positionals } = readWords(words);
  const [resource = '', ...rest] = positionals;
  const isBare = rest.length === 0 && words.length === 1;
  if (values.help || isBare || rest[0] === 'help') {
    console.log(`${HELPS[resource]}\n${OPTIONS_HELP}`);
    return 'reached';
  }
  if (rest.length === 0) throw new ClientUsageError(`berth ${resource} needs a command`);
  const timeoutSeconds = secondsOf(values.timeout);
  const context = contextFrom(values, settings, stopped);
  if (resource === 'revisions') return revisionsCommand(context, { wait: values.wait, timeoutSeconds }, rest);
  if (resource === 'logs') {
    const { component, revision, since, limit, previous } = values;
    return logsCommand(context, { component, revision, since, limit, previous }, rest);
  }
  const options: DeploymentOptions = {
    file: values.file,
    wait: values.wait,
    timeoutSeconds,
    status: values.status,
    nameContains: values['name-contains'],
    deleteTracingProject: values['delete-tracing-project'],
  };
  return deploymentsCommand(context, options, rest);
}

/**
 * Runs `berth deployments …` or `berth revisions …`. `words` are the arguments, including the first. Returns the exit
 * code.
 */
export async function clientCommand(words: readonly string[], settings: ClientSettings): Promise<number> {
  const stopped = new AbortController();
  process.once('SIGINT', () => stopped.abort());
  // The reader has closed the pipe (`| head`). Without this exit, the client would follow a log forever.
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') process.exit(EXIT.reached);
  });
  try {
    const end = await run(words, settings, stopped.signal);
    return stopped.signal.aborted ? EXIT.interrupted : EXIT[end];
  } catch (error) {
    if (stopped.signal.aborted) {
      console.error('berth: interrupted');
      return EXIT.interrupted;
    }
    if (error instanceof ClientUsageError) {
      console.error(`berth: ${error.message}; see berth ${words[0]} --help`);
      return EXIT.usage;
    }
    if (!(error instanceof ApiProblem)) throw error;
    console.error(`berth: ${error.message}`);
    return isPassing(error) ? EXIT.unknown : EXIT.failed;
  }
}
