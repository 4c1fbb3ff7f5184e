import { parseArgs } from 'node:util';
import { resultStep } from '../cluster/builder/result-step.ts';
import { sourceStep } from '../cluster/builder/source-step.ts';
import { failureText, StepFailure, writeTerminationMessage } from '../cluster/builder/step-failure.ts';
import { buildStepSettings } from '../config/index.ts';
import { UsageError } from './usage-error.ts';

/** `berth build-step`: a step in the Job of a build (docs/builds.md). */

const COMMON = `  --workspace DIR         folder that the steps of a build share
  --termination-log FILE  file for the result as JSON (default: BERTH_TERMINATION_LOG, or /dev/termination-log)`;

const EXIT = `Exit code: 0 for success; 1 for a failure, with a reason and a message in the result; 2 for wrong usage.`;

const HELPS: Readonly<Record<string, string>> = {
  source: `usage: berth build-step source --repo-url URL --config PATH --workspace DIR --credentials DIR [OPTIONS]
Clones one commit of a repository and prepares the build. The command writes DIR/context, DIR/commit and
DIR/dockerfile/Dockerfile. The Dockerfile is the file next to the configuration in the repository. If the repository has
no Dockerfile, the command generates it from the configuration.

  --repo-url URL          https URL of the repository
  --ref REF               branch, tag (refs/tags/NAME) or commit; default: the repository's default branch
  --commit SHA            the commit to build, on that ref
  --config PATH           the application's configuration in the repository (workflow_config_path)
  --install-command TEXT  replaces install of the configuration
  --build-command TEXT    replaces build of the configuration
  --credentials DIR       folder with the files git-username and git-token; without them, no credentials are sent
  --max-megabytes N       maximum size of the fetched data, and of the files (default 1024)
  --timeout-seconds N     maximum duration of the fetch (default 600)
${COMMON}

${EXIT}`,
  result: `usage: berth build-step result --workspace DIR
Reports the digest of the image and the commit that it was built from. The command reads DIR/metadata.json and
DIR/commit.

${COMMON}

${EXIT}`,
};

export const BUILD_STEP_HELP = `usage: berth build-step source|result [--help]
Runs one step in the Job of a build. Between the two steps, BuildKit builds and pushes the image.

  source  clones the repository, reads the configuration, and generates a missing Dockerfile
  result  reports the digest and the commit`;

/** Help of one step, or of all steps. */
export function buildStepHelp([name]: readonly string[]): string {
  return HELPS[name ?? ''] ?? BUILD_STEP_HELP;
}

const text = { type: 'string' } as const;
const OPTIONS = {
  workspace: text,
  'termination-log': text,
} as const;

function required(name: string, value: string | undefined): string {
  if (value === undefined || value === '') throw new UsageError(`--${name} is missing`);
  return value;
}

function count(name: string, value: string | undefined, fallback: number): number {
  const number = value === undefined ? fallback : Number(value);
  if (Number.isInteger(number) && number > 0) return number;
  throw new UsageError(`--${name} must be a whole number above 0, not "${value}"`);
}

const MEGABYTE = 1024 * 1024;
const say = (line: string) => console.log(line);

type Settings = ReturnType<typeof buildStepSettings>;
/** Runs a step and returns its result. */
type Step = () => Promise<string>;

interface Parsed {
  readonly step: Step;
  readonly terminationLog: string;
}

function source(args: readonly string[], settings: Settings): Parsed {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...OPTIONS,
      'repo-url': text,
      ref: text,
      commit: text,
      config: text,
      'install-command': text,
      'build-command': text,
      credentials: text,
      'max-megabytes': text,
      'timeout-seconds': text,
    },
  });
  const request = {
    repoUrl: required('repo-url', values['repo-url']),
    ref: values.ref,
    commit: values.commit,
    configPath: required('config', values.config),
    installCommand: values['install-command'],
    buildCommand: values['build-command'],
    workspace: required('workspace', values.workspace),
    credentials: required('credentials', values.credentials),
    limits: {
      bytes: count('max-megabytes', values['max-megabytes'], 1024) * MEGABYTE,
      timeoutMs: count('timeout-seconds', values['timeout-seconds'], 600) * 1000,
    },
  };
  return {
    terminationLog: values['termination-log'] ?? settings.terminationLog,
    step: async () => {
      await sourceStep(request, settings, say);
      return '';
    },
  };
}

function result(args: readonly string[], settings: Settings): Parsed {
  const { values } = parseArgs({ args: [...args], options: OPTIONS });
  const workspace = required('workspace', values.workspace);
  return {
    terminationLog: values['termination-log'] ?? settings.terminationLog,
    step: async () => {
      const built = resultStep(workspace);
      say(`built ${built.digest} of commit ${built.commit}`);
      return JSON.stringify(built);
    },
  };
}

const STEPS: Readonly<Record<string, (args: readonly string[], settings: Settings) => Parsed>> = {
  source,
  result,
};

/** The failure for the owner of the repository. An internal error is also logged in full for the platform. */
function failureOf(error: unknown): StepFailure {
  if (error instanceof StepFailure) return error;
  console.error(error);
  const message = error instanceof Error ? error.message : String(error);
  return new StepFailure('BuildFailed', `the build could not be run: ${message}`, { cause: error });
}

/**
 * Runs a step. Returns the exit code.
 * @throws UsageError
 */
export async function buildStepCommand([name, ...args]: readonly string[]): Promise<number> {
  const parse = Object.hasOwn(STEPS, name ?? '') ? STEPS[name ?? ''] : undefined;
  if (parse === undefined) throw new UsageError(`build-step must be source or result, not "${name ?? ''}"`);
  const { step, terminationLog } = parse(args, buildStepSettings());
  try {
    const word = await step();
    if (word !== '') writeTerminationMessage(terminationLog, word);
    return 0;
  } catch (error) {
    const failure = failureOf(error);
    console.error(failure.message);
    writeTerminationMessage(terminationLog, failureText(failure.reason, failure.message));
    return 1;
  }
}
