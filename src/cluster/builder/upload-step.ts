import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { BUILD_SECRET_KEYS } from '../../contract/resource/build.ts';
import { type ArchiveLimits, MEBIBYTE } from '../../domain/uploads/archive-limits.ts';
import { ArchiveViolation } from '../../domain/uploads/archive-rules.ts';
import { shortDigest } from '../../domain/uploads/upload.ts';
import { authorities } from '../../outbound/authorities.ts';
import { type Credentials, credentialsFor } from '../image-registry/docker-config.ts';
import { readBlob } from '../image-registry/read-blob.ts';
import { RegistryError } from '../image-registry/registry-error.ts';
import { type BuildInstructions, prepareContext, workspaceOf } from './build-context.ts';
import { detectApplication } from './detect.ts';
import { persist } from './persist.ts';
import type { SourceSettings } from './source-step.ts';
import { StepFailure } from './step-failure.ts';
import { unpack } from './unpack.ts';

/** The first step of a build of an uploaded folder: fetches and unpacks it, and writes the Dockerfile. */

export interface UploadRequest {
  /** Repository of the artifact: registry/path, without tag and digest. */
  readonly repository: string;
  /** Digest of the upload, which the step verifies. */
  readonly digest: string;
  readonly dockerfile?: string | undefined;
  readonly configPath?: string | undefined;
  readonly installCommand?: string | undefined;
  readonly buildCommand?: string | undefined;
  /** Folder that the steps share. */
  readonly workspace: string;
  /** Folder of the Secret's files (BUILD_SECRET_KEYS). */
  readonly credentials: string;
  /** Whether the registry uses plain HTTP. */
  readonly insecure: boolean;
  readonly limits: ArchiveLimits & { readonly packedBytes: number; readonly timeoutMs: number };
}

const DOCKERFILE = 'Dockerfile';
const CONFIG = 'berth.yaml';
/** Maximum size of a file that detection reads. */
const MAX_READ_BYTES = MEBIBYTE;

function credentialsOf({ credentials, repository }: UploadRequest): Credentials | null {
  const file = join(credentials, BUILD_SECRET_KEYS.sourceConfig);
  if (!existsSync(file)) return null;
  const slash = repository.indexOf('/');
  const place = { host: repository.slice(0, slash), repository: repository.slice(slash + 1) };
  return credentialsFor({ '.dockerconfigjson': readFileSync(file).toString('base64') }, place)[0] ?? null;
}

const TOO_LARGE: readonly string[] = ['too_many_entries', 'unpacked_too_large'];

/** The failure for the owner of the upload. */
function failureOf(error: unknown, digest: string): unknown {
  if (error instanceof ArchiveViolation) {
    const { rule, entry, message } = error;
    const named = entry === null ? message : `${entry}: ${message}`;
    return new StepFailure(TOO_LARGE.includes(rule) ? 'BuildTooLarge' : 'BuildConfigInvalid', named);
  }
  if (!(error instanceof RegistryError)) return error;
  const message = `failed to fetch the upload ${shortDigest(digest)}: ${error.message}`;
  return error.kind === 'refused'
    ? new StepFailure('RegistryRefused', message)
    : new StepFailure('RegistryUnavailable', message, { passing: error.kind !== 'unsupported' });
}

async function fetchInto(
  request: UploadRequest,
  { caFile }: SourceSettings,
  source: string,
  timeoutMs: number,
): Promise<void> {
  const { repository, digest, insecure, limits } = request;
  const blob = { repository, digest, credentials: credentialsOf(request), maxBytes: limits.packedBytes };
  const options = {
    timeoutMs,
    // The registry of the platform, which the operator names.
    privateHosts: 'any',
    closedNetworks: [],
    insecureHosts: insecure ? [repository.slice(0, repository.indexOf('/'))] : [],
    ca: authorities(caFile).join('\n'),
  } as const;
  try {
    const found = await readBlob(blob, options, (content) => unpack(content, source, limits));
    if (found !== null) return;
  } catch (error) {
    throw failureOf(error, digest);
  }
  const message = `the upload ${shortDigest(digest)} is no longer stored: deploy the folder again`;
  throw new StepFailure('UploadMissing', message);
}

/** What describes the build of the folder: the settings of the upload, or its files. */
function instructionsFor(
  { dockerfile, configPath }: UploadRequest,
  source: string,
  log: (line: string) => void,
): BuildInstructions {
  if (configPath !== undefined) return { kind: 'config', path: configPath };
  if (dockerfile !== undefined) return { kind: 'dockerfile', path: dockerfile };
  const names = readdirSync(source);
  if (names.includes(DOCKERFILE)) return { kind: 'dockerfile', path: DOCKERFILE };
  if (names.includes(CONFIG)) return { kind: 'config', path: CONFIG };
  const read = (name: string) => {
    const file = join(source, name);
    const found = lstatSync(file, { throwIfNoEntry: false });
    return found?.isFile() === true && found.size <= MAX_READ_BYTES ? readFileSync(file, 'utf8') : null;
  };
  const detected = detectApplication({ names, read });
  const { language, version } = detected.config;
  log(`no ${DOCKERFILE} and no ${CONFIG}; detected ${language} ${version} by ${detected.from}`);
  return { kind: 'detected', ...detected };
}

/**
 * Prepares the workspace so that an image can be built from it.
 * @param log receives lines for the owner of the upload
 * @throws StepFailure
 */
export async function uploadStep(
  request: UploadRequest,
  settings: SourceSettings,
  log: (line: string) => void,
): Promise<void> {
  const workspace = workspaceOf(request.workspace);
  const source = join(request.workspace, 'source');
  log(`fetching the upload ${request.digest}`);
  await persist(
    async (timeoutMs) => {
      // A restarted container finds the files of the previous run.
      for (const path of [source, ...Object.values(workspace)])
        rmSync(path, { recursive: true, force: true });
      mkdirSync(source, { recursive: true });
      await fetchInto(request, settings, source, timeoutMs);
    },
    request.limits.timeoutMs,
    log,
  );
  const instructions = instructionsFor(request, source, log);
  const { installCommand, buildCommand } = request;
  const commands = { installCommand, buildCommand };
  const { baseImages } = settings;
  prepareContext({ source, place: 'folder', workspace, instructions, ...commands, baseImages, log });
  rmSync(source, { recursive: true, force: true });
}
