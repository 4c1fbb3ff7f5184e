import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { BUILD_FILES } from '../../contract/resource/build.ts';
import { type BaseImages, canCreateFiles, DOCKERIGNORE, dockerfileOf } from './dockerfile.ts';
import { hasEntrypoint } from './entrypoint.ts';
import { INSTALL_MANIFEST } from './install-manifest.ts';
import { MAX_PROCFILE_BYTES, parseProcfile } from './procfile.ts';
import { StepFailure } from './step-failure.ts';
import { parseWorkflowConfig } from './workflow-config.ts';

/** Turns the files of a commit into the input of BuildKit: a build context and a Dockerfile. */

const DOCKERFILE = 'Dockerfile';
const PROCFILE = 'Procfile';
const MAX_CONFIG_BYTES = 64 * 1024;
const CONFIG_NAMES = /^berth\.(ya?ml|json)$/;
const MAX_DOCKERFILE_BYTES = 1024 * 1024;
const MAX_MANIFEST_BYTES = 1024 * 1024;

/** Paths of the files that the steps of a build pass on to each other. */
export type Workspace = Readonly<Record<keyof typeof BUILD_FILES, string>>;

export function workspaceOf(folder: string): Workspace {
  return {
    context: join(folder, BUILD_FILES.context),
    dockerfile: join(folder, BUILD_FILES.dockerfile),
    commit: join(folder, BUILD_FILES.commit),
    procfile: join(folder, BUILD_FILES.procfile),
    metadata: join(folder, BUILD_FILES.metadata),
  };
}

const isMissing = (error: unknown) =>
  ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'].includes((error as NodeJS.ErrnoException).code ?? '');

/**
 * The real file behind a path of the repository; null when it does not exist.
 * @throws StepFailure when a link leads out of the repository
 */
function fileIn(source: string, path: string): string | null {
  let real: string;
  try {
    real = realpathSync(join(source, path));
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
  if (!real.startsWith(`${realpathSync(source)}${sep}`)) {
    throw new StepFailure('BuildConfigInvalid', `${path} is a link that leads out of the repository`);
  }
  if (statSync(real).isFile()) return real;
  throw new StepFailure('BuildConfigInvalid', `${path} is not a file`);
}

function bytesOf(file: string, path: string, maxBytes: number): Buffer {
  const { size } = lstatSync(file);
  if (size <= maxBytes) return readFileSync(file);
  throw new StepFailure(
    'BuildConfigInvalid',
    `${path} has ${size} bytes, which is more than the limit of ${maxBytes}`,
  );
}

const readBounded = (file: string, path: string, maxBytes: number): string =>
  bytesOf(file, path, maxBytes).toString('utf8');

/** Names of the files in a folder of the repository; empty when it is not a folder, or lies outside the repository. */
function namesIn(source: string, path: string): string[] {
  try {
    const real = realpathSync(join(source, path));
    const root = realpathSync(source);
    return real === root || real.startsWith(`${root}${sep}`) ? readdirSync(real) : [];
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** Suggests files with a similar name, for users who mistyped a path. */
function elsewhere(source: string, path: string, alsoNamed?: RegExp): string {
  const [name, folder] = [basename(path), dirname(path)];
  const alike = namesIn(source, folder).filter(
    (file) => file.toLowerCase() === name.toLowerCase() || alsoNamed?.test(file) === true,
  );
  return alike.length === 0
    ? ''
    : `; similar files exist: ${alike.map((file) => join(folder, file)).join(', ')}`;
}

export interface ContextRequest {
  /** Folder with the files of the commit. The build context is moved out of this folder. */
  readonly source: string;
  readonly workspace: Workspace;
  /** workflow_config_path. */
  readonly configPath: string;
  readonly baseImages: BaseImages;
  readonly installCommand?: string | undefined;
  readonly buildCommand?: string | undefined;
  readonly log: (line: string) => void;
}

/**
 * The text of the Dockerfile: that of the file in the repository, otherwise a text generated from the configuration.
 */
function dockerfileFor(request: ContextRequest, config: string): string {
  const { source, configPath, installCommand, buildCommand, baseImages, log } = request;
  const path = join(dirname(configPath), DOCKERFILE);
  const own = fileIn(source, path);
  if (own !== null) {
    const ignored = installCommand !== undefined || buildCommand !== undefined;
    log(
      `using ${path}${ignored ? '; install_command and build_command have no effect with a Dockerfile' : ''}`,
    );
    return readBounded(own, path, MAX_DOCKERFILE_BYTES);
  }
  log(`no ${path}; generating a Dockerfile from ${configPath}`);
  const files = readdirSync(join(source, dirname(configPath)));
  const content = readBounded(config, configPath, MAX_CONFIG_BYTES);
  const parsed = parseWorkflowConfig(configPath, content);
  const manifest = manifestFor(source, join(dirname(configPath), INSTALL_MANIFEST[parsed.language]));
  const input = { config: parsed, baseImages, installCommand, buildCommand, files, manifest };
  const makesEntrypoint = !hasEntrypoint(join(source, dirname(configPath)), parsed);
  if (makesEntrypoint && !canCreateFiles(input)) {
    const entrypoint = join(dirname(configPath), parsed.entrypoint ?? '');
    const message = `${configPath} is invalid: entrypoint: there is no file ${entrypoint} in the repository${elsewhere(source, entrypoint)}`;
    throw new StepFailure('BuildConfigInvalid', message);
  }
  return dockerfileOf({ ...input, makesEntrypoint });
}

/** Text of the dependency manifest; undefined when it is missing, is a link, or exceeds the size limit. */
function manifestFor(source: string, path: string): string | undefined {
  const found = lstatSync(join(source, path), { throwIfNoEntry: false });
  if (found?.isFile() !== true || found.size > MAX_MANIFEST_BYTES) return undefined;
  return readFileSync(join(source, path), 'utf8');
}

/** The default .dockerignore applies when the repository has none; null: the repository has its own. */
function dockerignoreFor({ source, configPath }: ContextRequest): string | null {
  const folder = dirname(configPath);
  const own = fileIn(source, join(folder, `${DOCKERFILE}.dockerignore`));
  if (own !== null) return readFileSync(own, 'utf8');
  return existsSync(join(source, folder, '.dockerignore')) ? null : DOCKERIGNORE;
}

/** The folders above a path of the repository, from the nearest to the root. */
function foldersAbove(folder: string): string[] {
  const parent = dirname(folder);
  return parent === folder ? [] : [parent, ...foldersAbove(parent)];
}

/**
 * Reports a Procfile that is not used. With a wrong name, the build fails, because the app would start without its
 * processes. A Procfile above the build context may be that of another app of the repository, so it is only logged.
 * @throws StepFailure BuildConfigInvalid
 */
function reportMisplacedProcfile({ source, configPath, log }: ContextRequest): void {
  const folder = dirname(configPath);
  const similar = elsewhere(source, join(folder, PROCFILE));
  if (similar !== '') {
    const message = `the name of a Procfile must be ${PROCFILE}, with this case${similar}`;
    throw new StepFailure('BuildConfigInvalid', message);
  }
  for (const above of foldersAbove(join(folder))) {
    const unused = namesIn(source, above).filter((name) => name.toLowerCase() === PROCFILE.toLowerCase());
    for (const name of unused) {
      const used = join(folder, PROCFILE);
      log(
        `warning: ${join(above, name)} is not used, because the build context is ${folder}; Berth reads only ${used}`,
      );
    }
  }
}

/** Passes the commands of the Procfile on, which is at the root of the context. A repository may have no Procfile. */
function writeProcfile(request: ContextRequest): void {
  const { source, workspace, configPath, log } = request;
  const path = join(dirname(configPath), PROCFILE);
  const file = fileIn(source, path);
  if (file === null) {
    reportMisplacedProcfile(request);
    return;
  }
  const procfile = parseProcfile(path, bytesOf(file, path, MAX_PROCFILE_BYTES));
  if (procfile === undefined) return;
  log(`using the commands of ${path}: ${Object.keys(procfile).join(', ')}`);
  writeFileSync(workspace.procfile, JSON.stringify(procfile));
}

/**
 * Creates the context and the Dockerfile of a build. The context is the folder of the configuration.
 * @throws StepFailure BuildConfigInvalid that names the file
 */
export function prepareContext(request: ContextRequest): void {
  const { source, workspace, configPath, log } = request;
  const config = fileIn(source, configPath);
  if (config === null) {
    const message = `${configPath} (workflow_config_path) is not in the repository${elsewhere(source, configPath, CONFIG_NAMES)}`;
    throw new StepFailure('BuildConfigInvalid', message);
  }
  const dockerfile = dockerfileFor(request, config);
  const dockerignore = dockerignoreFor(request);
  writeProcfile(request);
  mkdirSync(workspace.dockerfile, { recursive: true });
  writeFileSync(join(workspace.dockerfile, DOCKERFILE), dockerfile);
  if (dockerignore !== null) {
    writeFileSync(join(workspace.dockerfile, `${DOCKERFILE}.dockerignore`), dockerignore);
  }
  // The path to the folder may contain links within the repository.
  const folder = realpathSync(join(source, dirname(configPath)));
  log(`context: ${relative(realpathSync(source), folder) || '.'}`);
  renameSync(folder, workspace.context);
}
