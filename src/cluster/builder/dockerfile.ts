import { entrypointCheck } from './entrypoint.ts';
import { INSTALL_MANIFEST, needsNoSources } from './install-manifest.ts';
import type { Language, WorkflowConfig } from './workflow-config.ts';

/** Generates the Dockerfile of an application that has none. The same input produces the same text, byte for byte. */

/** Image references with `{version}` as a placeholder for the version. The platform may configure its own images. */
export type BaseImages = Readonly<Record<Language, string>>;

/** The user that the application runs as. `runAsNonRoot` requires a numeric id. */
const USER = '10001:10001';
/** Port of the api component (docs/image-contract.md). */
const PORT = 8000;

export interface DockerfileInput {
  readonly config: WorkflowConfig;
  readonly baseImages: BaseImages;
  /** source_config.install_command and build_command, which replace the commands of the configuration. */
  readonly installCommand?: string | undefined;
  readonly buildCommand?: string | undefined;
  /** Names of the files next to the configuration, which determine how dependencies are installed. */
  readonly files: readonly string[];
  /** Text of `package.json` or `requirements.txt`; absent: it was not read. */
  readonly manifest?: string | undefined;
  /** The repository does not contain the entrypoint, so the build must create it. Default: false. */
  readonly makesEntrypoint?: boolean;
}

/**
 * The exec form, so that the Dockerfile parser does not interpret backslashes, line breaks or variables in the command.
 */
const run = (command: string) => `RUN ${JSON.stringify(['/bin/sh', '-ec', command])}`;

/** Files that list the dependencies. Missing files are skipped: BuildKit accepts patterns without a match. */
const MANIFESTS: Readonly<Record<Language, string>> = {
  node: 'package*.json npm-shrinkwrap.json* .npmrc*',
  python: 'requirements.txt',
};

/** Default install command, used when no command is configured; null: there are no dependencies. */
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

/**
 * Removes build-only dependencies. After a custom install command, build-only dependencies remain, because the tool of
 * the command is unknown.
 */
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
 * Whether dependencies can be installed before the sources are copied, so that their layer stays cached until the
 * manifest changes. A custom command may need any file.
 */
function installsAlone({ config, files, manifest }: DockerfileInput): boolean {
  if (manifest === undefined || !files.includes(INSTALL_MANIFEST[config.language])) return false;
  return needsNoSources(config.language, files, manifest);
}

interface Commands {
  /** The custom install command; undefined: Berth chooses the command. */
  readonly own: string | undefined;
  readonly install: string | null;
  readonly build: string | null;
}

function commandsOf({ config, files, installCommand, buildCommand }: DockerfileInput): Commands {
  const own = installCommand ?? config.install;
  const install = own ?? DEFAULT_INSTALL[config.language](files);
  return { own, install, build: buildCommand ?? config.build ?? null };
}

/** Whether a command of the build can create files of the application. */
export function canCreateFiles(input: DockerfileInput): boolean {
  const { own, install, build } = commandsOf(input);
  return own !== undefined || build !== null || (install !== null && !installsAlone(input));
}

interface Stages {
  readonly before: readonly string[];
  readonly environment: string;
  readonly copies: readonly string[];
}

/** Python dependencies are installed in a virtual environment, which is copied to the image as a whole. */
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

/** The text of the Dockerfile. The first stage builds; the second stage becomes the image. */
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

/** Files that never belong in an image. This list applies when the repository has no .dockerignore. */
export const DOCKERIGNORE = ['.git', '**/.git', '**/node_modules', '**/__pycache__', '**/.venv', ''].join(
  '\n',
);
