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
import { parseWorkflowConfig, type WorkflowConfig } from './workflow-config.ts';

/** Turns the files of a commit or of an uploaded folder into the input of BuildKit: a build context and a Dockerfile. */

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

type Source = Pick<ContextRequest, 'source' | 'place'>;

/**
 * The real file behind a path of the source; null when it does not exist.
 * @throws StepFailure when a link leads out of the source
 */
function fileIn({ source, place }: Source, path: string): string | null {
  let real: string;
  try {
    real = realpathSync(join(source, path));
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
  if (!real.startsWith(`${realpathSync(source)}${sep}`)) {
    throw new StepFailure('BuildConfigInvalid', `${path} is a link that leads out of the ${place}`);
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

/** What describes the build. */
export type BuildInstructions =
  /** workflow_config_path. A Dockerfile next to it wins. */
  | { readonly kind: 'config'; readonly path: string }
  /** A Dockerfile, for which the whole source is the context. */
  | { readonly kind: 'dockerfile'; readonly path: string }
  /** The source has neither, and its files are those of this application. */
  | { readonly kind: 'detected'; readonly config: WorkflowConfig; readonly from: string };

export interface ContextRequest {
  /** Folder with the files of the commit or of the upload. The build context is moved out of this folder. */
  readonly source: string;
  /** What the source is, for messages. */
  readonly place: 'repository' | 'folder';
  readonly workspace: Workspace;
  readonly instructions: BuildInstructions;
  readonly baseImages: BaseImages;
  readonly installCommand?: string | undefined;
  readonly buildCommand?: string | undefined;
  readonly log: (line: string) => void;
}

/** The folder of the build context, relative to the source. */
const folderOf = ({ instructions }: ContextRequest) =>
  instructions.kind === 'config' ? dirname(instructions.path) : '.';

/** The path of a Dockerfile of the source. */
const dockerfilePath = ({ instructions }: ContextRequest, folder: string) =>
  instructions.kind === 'dockerfile' ? instructions.path : join(folder, DOCKERFILE);

/** The text of the Dockerfile: that of the file in the source, otherwise a text generated from the configuration. */
function dockerfileFor(request: ContextRequest): string {
  const { source, place, instructions, installCommand, buildCommand, log } = request;
  const path = dockerfilePath(request, folderOf(request));
  const own = instructions.kind === 'detected' ? null : fileIn(request, path);
  if (own !== null) {
    const ignored = installCommand !== undefined || buildCommand !== undefined;
    log(
      `using ${path}${ignored ? '; install_command and build_command have no effect with a Dockerfile' : ''}`,
    );
    return readBounded(own, path, MAX_DOCKERFILE_BYTES);
  }
  if (instructions.kind === 'dockerfile')
    throw new StepFailure(
      'BuildConfigInvalid',
      `${path} (dockerfile) is not in the ${place}${elsewhere(source, path)}`,
    );
  const from = instructions.kind === 'config' ? instructions.path : instructions.from;
  log(`no ${path}; generating a Dockerfile from ${from}`);
  return generatedDockerfile(request, configOf(request), from);
}

/** The configuration of a source without a Dockerfile. @throws StepFailure BuildConfigInvalid */
function configOf(request: ContextRequest): WorkflowConfig {
  const { instructions } = request;
  if (instructions.kind === 'detected') return instructions.config;
  const { path } = instructions;
  return parseWorkflowConfig(path, readBounded(configFile(request, path), path, MAX_CONFIG_BYTES));
}

function generatedDockerfile(request: ContextRequest, config: WorkflowConfig, from: string): string {
  const { source, place, installCommand, buildCommand, baseImages } = request;
  const folder = folderOf(request);
  const files = readdirSync(join(source, folder));
  const manifest = manifestFor(source, join(folder, INSTALL_MANIFEST[config.language]));
  const input = { config, baseImages, installCommand, buildCommand, files, manifest };
  const makesEntrypoint = !hasEntrypoint(join(source, folder), config);
  if (makesEntrypoint && !canCreateFiles(input)) {
    const entrypoint = join(folder, config.entrypoint ?? '');
    const message = `${from} is invalid: entrypoint: there is no file ${entrypoint} in the ${place}${elsewhere(source, entrypoint)}`;
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

/** The default .dockerignore applies when the source has none; null: the source has its own. */
function dockerignoreFor(request: ContextRequest): string | null {
  const { source } = request;
  const folder = folderOf(request);
  const own = fileIn(request, `${dockerfilePath(request, folder)}.dockerignore`);
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
function reportMisplacedProcfile(request: ContextRequest): void {
  const { source, log } = request;
  const folder = folderOf(request);
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
  const { workspace, log } = request;
  const path = join(folderOf(request), PROCFILE);
  const file = fileIn(request, path);
  if (file === null) {
    reportMisplacedProcfile(request);
    return;
  }
  const procfile = parseProcfile(path, bytesOf(file, path, MAX_PROCFILE_BYTES));
  if (procfile === undefined) return;
  log(`using the commands of ${path}: ${Object.keys(procfile).join(', ')}`);
  writeFileSync(workspace.procfile, JSON.stringify(procfile));
}

/** The file with the configuration. @throws StepFailure BuildConfigInvalid when it does not exist */
function configFile(request: ContextRequest, path: string): string {
  const { source, place } = request;
  const file = fileIn(request, path);
  if (file !== null) return file;
  const message = `${path} (workflow_config_path) is not in the ${place}${elsewhere(source, path, CONFIG_NAMES)}`;
  throw new StepFailure('BuildConfigInvalid', message);
}

/**
 * Creates the context and the Dockerfile of a build.
 * @throws StepFailure BuildConfigInvalid that names the file
 */
export function prepareContext(request: ContextRequest): void {
  const { source, workspace, instructions, log } = request;
  // A wrong path is an error even if a Dockerfile is next to it.
  if (instructions.kind === 'config') configFile(request, instructions.path);
  const dockerfile = dockerfileFor(request);
  const dockerignore = dockerignoreFor(request);
  writeProcfile(request);
  mkdirSync(workspace.dockerfile, { recursive: true });
  writeFileSync(join(workspace.dockerfile, DOCKERFILE), dockerfile);
  if (dockerignore !== null) {
    writeFileSync(join(workspace.dockerfile, `${DOCKERFILE}.dockerignore`), dockerignore);
  }
  // The path to the folder may contain links within the source.
  const folder = realpathSync(join(source, folderOf(request)));
  log(`context: ${relative(realpathSync(source), folder) || '.'}`);
  renameSync(folder, workspace.context);
}
