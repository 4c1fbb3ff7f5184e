import { isObject } from '../../domain/core/is-object.ts';
import { MAX_PROCFILE_BYTES, parseProcfile } from './procfile.ts';
import { StepFailure } from './step-failure.ts';
import type { WorkflowConfig } from './workflow-config.ts';

/** Finds out how an uploaded folder without a Dockerfile and without a configuration is built. */

export interface FolderFiles {
  /** Names of the files and folders at the root. */
  readonly names: readonly string[];
  /** The text of a file at the root; null: it is not a file, or is too large. */
  readonly read: (name: string) => string | null;
}

export interface Detected {
  readonly config: WorkflowConfig;
  /** The file that decided. */
  readonly from: string;
}

const PACKAGE = 'package.json';
const PROCFILE = 'Procfile';
const PYTHON_FILES = ['requirements.txt', 'pyproject.toml'] as const;
const PYTHON_VERSION = '.python-version';

/** Versions of the languages if the folder names none. */
export const DEFAULT_VERSIONS = { node: '24', python: '3.13' } as const;

const HELP = 'add a Dockerfile, or a berth.yaml that names language, version and entrypoint';

const invalid = (message: string) => new StepFailure('BuildConfigInvalid', message);

/** `22`, `22.x`, `^22.1.0`, `~22.1`: one major version. Other ranges do not name one. */
const ONE_MAJOR = /^[v^~=]?\s*(\d{1,3})(\.[\dxX*]+){0,2}$/;

function nodeVersion({ engines }: Record<string, unknown>): string {
  const range = isObject(engines) && typeof engines['node'] === 'string' ? engines['node'].trim() : '';
  return ONE_MAJOR.exec(range)?.[1] ?? DEFAULT_VERSIONS.node;
}

function pythonVersion({ read }: FolderFiles): string {
  const stated = read(PYTHON_VERSION)?.trim() ?? '';
  return /^3\.\d{1,3}(\.\d{1,4})?$/.test(stated) ? stated : DEFAULT_VERSIONS.python;
}

/** The command of the process `web`; null: the folder has no Procfile, or its Procfile has no such process. */
function webProcess({ names, read }: FolderFiles): string | null {
  if (!names.includes(PROCFILE)) return null;
  const text = read(PROCFILE);
  if (text === null || Buffer.byteLength(text) > MAX_PROCFILE_BYTES) return null;
  return parseProcfile(PROCFILE, Buffer.from(text))?.web ?? null;
}

const shell = (line: string) => ['/bin/sh', '-c', line];

function readPackage(files: FolderFiles): Record<string, unknown> {
  try {
    const content: unknown = JSON.parse(files.read(PACKAGE) ?? '');
    if (isObject(content)) return content;
  } catch {
    // The message of the parser may quote the file.
  }
  throw invalid(`${PACKAGE} is not a JSON object`);
}

const filledText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== '';

function detectNode(files: FolderFiles): Detected {
  const content = readPackage(files);
  const { scripts, main } = content;
  const shared = { language: 'node', version: nodeVersion(content) } as const;
  const web = webProcess(files);
  // Pods run this process, so a start script or a main that does not exist must not fail the build.
  if (web !== null) return { config: { ...shared, command: shell(web) }, from: PROCFILE };
  if (isObject(scripts) && filledText(scripts['start']))
    return { config: { ...shared, command: ['npm', 'start'] }, from: PACKAGE };
  if (filledText(main)) {
    const entrypoint = main.replace(/^\.\//, '');
    if (entrypoint.startsWith('/') || entrypoint.startsWith('-') || entrypoint.split('/').includes('..'))
      throw invalid(`${PACKAGE} is invalid: main must be a path in the folder`);
    return { config: { ...shared, entrypoint }, from: PACKAGE };
  }
  throw invalid(
    `${PACKAGE} has neither a start script nor main, and there is no ${PROCFILE} with a process web: add one of them, or ${HELP}`,
  );
}

function detectPython(files: FolderFiles, manifest: string): Detected {
  const web = webProcess(files);
  if (web === null)
    throw invalid(
      `the folder has ${manifest}, but no ${PROCFILE} with a process web, so its start command is not known: add the line "web: COMMAND" to ${PROCFILE}, or ${HELP}`,
    );
  const config = { language: 'python', version: pythonVersion(files), command: shell(web) } as const;
  return { config: { ...config, command: [...config.command] }, from: PROCFILE };
}

/**
 * Detects Node by package.json, and Python by requirements.txt or pyproject.toml.
 * @throws StepFailure BuildConfigInvalid with what to add to the folder
 */
export function detectApplication(files: FolderFiles): Detected {
  const { names } = files;
  const python = PYTHON_FILES.find((name) => names.includes(name));
  const isNode = names.includes(PACKAGE);
  if (isNode && python !== undefined)
    throw invalid(`the folder may be Node (${PACKAGE}) or Python (${python}): ${HELP}`);
  if (isNode) return detectNode(files);
  if (python !== undefined) return detectPython(files, python);
  throw invalid(
    `the folder has no Dockerfile, no berth.yaml, no ${PACKAGE} (Node), and no requirements.txt or pyproject.toml (Python): ${HELP}`,
  );
}
