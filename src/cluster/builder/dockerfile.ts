import { entrypointCheck } from './entrypoint.ts';
import { INSTALL_MANIFEST, needsNoSources } from './install-manifest.ts';
import type { Language, WorkflowConfig } from './workflow-config.ts';

/** The Dockerfile of an application that brings none. The same input gives the same text, byte for byte. */

/** Image references with `{version}` where the version goes; the platform may have its own. */
export type BaseImages = Readonly<Record<Language, string>>;

/** What the application runs as: numeric, as `runAsNonRoot` needs it. */
const USER = '10001:10001';
/** Port of the api component (docs/image-contract.md). */
const PORT = 8000;

export interface DockerfileInput {
  readonly config: WorkflowConfig;
  readonly baseImages: BaseImages;
  /** source_config.install_command and build_command: they take the place of the configuration's own. */
  readonly installCommand?: string | undefined;
  readonly buildCommand?: string | undefined;
  /** Names of the files beside the configuration: they tell how dependencies are installed. */
  readonly files: readonly string[];
  /** Text of `package.json` or `requirements.txt`; absent: it was not read. */
  readonly manifest?: string | undefined;
  /** The repository lacks the entrypoint: the build has to make it. Default: it has it. */
  readonly makesEntrypoint?: boolean;
}

/** In exec form, so that nothing in the command is the Dockerfile's: no backslash, no line end, no variable. */
const run = (command: string) => `RUN ${JSON.stringify(['/bin/sh', '-ec', command])}`;

/** Files that say what is installed. What is not there is passed over: BuildKit takes a pattern that nothing matches. */
const MANIFESTS: Readonly<Record<Language, string>> = {
  node: 'package*.json npm-shrinkwrap.json* .npmrc*',
  python: 'requirements.txt',
};

/** How dependencies are installed where nobody says so; null: there are none. */
const DEFAULT_INSTALL: Readonly<Record<Language, (files: readonly string[]) => string | null>> = {
  node: (files) => {
    if (files.includes('package-lock.json') || files.includes('npm-shrinkwrap.json')) return 'npm ci';
    return files.includes('package.json') ? 'npm install --no-audit --no-fund' : null;
  },
  python: (files) => {
    if (files.includes('requirements.txt')) return 'pip install --no-cache-dir -r requirements.txt';
    return files.includes('pyproject.toml') ? 'pip install --no-cache-dir .' : null;
  },
};

/** What is only needed to build goes again; of other ways to install we do not know how. */
function pruneCommand(language: Language, install: string | null, isOwn: boolean): string | null {
  return language === 'node' && install !== null && !isOwn
    ? 'npm prune --omit=dev --no-audit --no-fund'
    : null;
}

function startCommand({ language, entrypoint, command }: WorkflowConfig): readonly string[] {
  if (command !== undefined) return command;
  return [language === 'node' ? 'node' : 'python', entrypoint ?? ''];
}

/**
 * Dependencies can be installed before the rest is copied: their layer then holds until they change. A command of somebody's
 * own may need anything.
 */
function installsAlone({ config, files, manifest }: DockerfileInput): boolean {
  if (manifest === undefined || !files.includes(INSTALL_MANIFEST[config.language])) return false;
  return needsNoSources(config.language, files, manifest);
}

interface Commands {
  /** Of somebody's own; undefined: Berth chooses how to install. */
  readonly own: string | undefined;
  readonly install: string | null;
  readonly build: string | null;
}

function commandsOf({ config, files, installCommand, buildCommand }: DockerfileInput): Commands {
  const own = installCommand ?? config.install;
  const install = own ?? DEFAULT_INSTALL[config.language](files);
  return { own, install, build: buildCommand ?? config.build ?? null };
}

/** Whether what runs in the build may make files of the application. */
export function mayMakeFiles(input: DockerfileInput): boolean {
  const { own, install, build } = commandsOf(input);
  return own !== undefined || build !== null || (install !== null && !installsAlone(input));
}

interface Stages {
  readonly before: readonly string[];
  readonly environment: string;
  readonly copies: readonly string[];
}

/** Dependencies of Python stand in a virtual environment, which is copied as a whole. */
const STAGES: Readonly<Record<Language, Stages>> = {
  node: {
    before: [],
    environment: `ENV NODE_ENV=production PORT=${PORT}`,
    copies: ['COPY --from=build /app /app'],
  },
  python: {
    before: [run('python -m venv /opt/venv'), 'ENV PATH=/opt/venv/bin:$PATH'],
    environment: `ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PORT=${PORT}`,
    copies: ['COPY --from=build /opt/venv /opt/venv', 'COPY --from=build /app /app'],
  },
};

/** The text of the Dockerfile: what builds stays in the first stage, the image is made of the second. */
export function dockerfileOf(input: DockerfileInput): string {
  const { config, baseImages, makesEntrypoint = false } = input;
  const base = baseImages[config.language].replaceAll('{version}', config.version);
  const { own, install, build } = commandsOf(input);
  const prune = pruneCommand(config.language, install, own !== undefined);
  const { before, environment, copies } = STAGES[config.language];
  const isFirst = own === undefined && install !== null && installsAlone(input);
  const steps = [
    isFirst ? `COPY ${MANIFESTS[config.language]} ./` : 'COPY . .',
    ...(install === null ? [] : [run(install)]),
    ...(isFirst ? ['COPY . .'] : []),
    ...[build, prune].filter((command) => command !== null).map(run),
    ...(makesEntrypoint ? [entrypointCheck(config)] : []),
  ];
  return [
    `FROM ${base} AS build`,
    'WORKDIR /app',
    ...before,
    ...steps,
    '',
    `FROM ${base}`,
    'WORKDIR /app',
    environment,
    ...copies,
    `EXPOSE ${PORT}`,
    `USER ${USER}`,
    `CMD ${JSON.stringify(startCommand(config))}`,
    '',
  ].join('\n');
}

/** What never belongs into an image; used where the repository says nothing of its own. */
export const DOCKERIGNORE = ['.git', '**/.git', '**/node_modules', '**/__pycache__', '**/.venv', ''].join(
  '\n',
);
