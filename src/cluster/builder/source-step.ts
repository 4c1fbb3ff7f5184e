import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BUILD_SECRET_KEYS } from '../../contract/resource/build.ts';
import { authorities } from '../../outbound/authorities.ts';
import { gitOf } from '../../outbound/git-process.ts';
import { prepareContext, workspaceOf } from './build-context.ts';
import { clone } from './clone.ts';
import type { BaseImages } from './dockerfile.ts';
import { persist } from './persist.ts';
import { repositoryPlace } from './repository-host.ts';
import { StepFailure } from './step-failure.ts';

/** The first step of a build: checks out the commit, reads its configuration and writes the Dockerfile. */

/** Settings of the platform that apply to every build. */
export interface SourceSettings {
  /** Git hosts may have private addresses. */
  readonly allowPrivate: boolean;
  /** PEM file of additional certificate authorities. */
  readonly caFile: string | null;
  readonly baseImages: BaseImages;
  /** PATH of the processes that the step starts. */
  readonly path: string;
}

export interface SourceRequest {
  readonly repoUrl: string;
  readonly ref?: string | undefined;
  readonly commit?: string | undefined;
  readonly configPath: string;
  readonly installCommand?: string | undefined;
  readonly buildCommand?: string | undefined;
  /** Folder that the steps share. */
  readonly workspace: string;
  /** Folder of the Secret's files (BUILD_SECRET_KEYS). */
  readonly credentials: string;
  readonly limits: { readonly bytes: number; readonly timeoutMs: number };
}

const MAX_FILES = 200_000;

interface Credentials {
  readonly username: string;
  readonly token: string;
  readonly usernameFile: string;
  readonly tokenFile: string;
}

/**
 * null: the repository is read without credentials.
 * @throws StepFailure that names the file, never its content
 */
function readCredentials(folder: string): Credentials | null {
  const usernameFile = join(folder, BUILD_SECRET_KEYS.gitUsername);
  const tokenFile = join(folder, BUILD_SECRET_KEYS.gitToken);
  if (!existsSync(usernameFile) || !existsSync(tokenFile)) return null;
  const [username, token] = [usernameFile, tokenFile].map((file) =>
    readFileSync(file, 'utf8').replace(/\n$/, ''),
  );
  if (!username || !token || /[\r\n\0]/.test(`${username}${token}`)) {
    throw new StepFailure(
      'GitHostRefused',
      'the credentials of the integration are empty or have more than one line',
    );
  }
  return { username, token, usernameFile, tokenFile };
}

/** Removes the credentials from a message, because a host may echo what it received. */
function withoutSecrets(credentials: Credentials | null, text: string): string {
  if (credentials === null) return text;
  const { username, token } = credentials;
  const basic = Buffer.from(`${username}:${token}`).toString('base64');
  return [basic, encodeURIComponent(token), token].reduce(
    (text, secret) => text.replaceAll(secret, '**********'),
    text,
  );
}

/**
 * Prepares the workspace so that an image can be built from it.
 * @param log receives lines for the owner of the repository, without secrets
 * @throws StepFailure
 */
export async function sourceStep(
  request: SourceRequest,
  settings: SourceSettings,
  log: (line: string) => void,
): Promise<void> {
  const credentials = readCredentials(request.credentials);
  const safeLog = (line: string) => log(withoutSecrets(credentials, line));
  try {
    await prepare(request, settings, credentials, safeLog);
  } catch (error) {
    if (error instanceof StepFailure)
      throw new StepFailure(error.reason, withoutSecrets(credentials, error.message));
    // The message also appears in the log and in the status.
    throw new Error(withoutSecrets(credentials, error instanceof Error ? error.message : String(error)));
  }
}

async function prepare(
  request: SourceRequest,
  settings: SourceSettings,
  credentials: Credentials | null,
  log: (line: string) => void,
): Promise<void> {
  const workspace = workspaceOf(request.workspace);
  const own = join(request.workspace, 'git');
  const source = join(request.workspace, 'source');
  log(`reading ${request.repoUrl}`);
  const commit = await persist(
    async (timeoutMs) => {
      // A restarted container finds the files of the previous run.
      for (const path of [own, source, ...Object.values(workspace)])
        rmSync(path, { recursive: true, force: true });
      mkdirSync(own, { recursive: true });
      const place = await repositoryPlace(request.repoUrl, { ...settings, credentials, timeoutMs });
      const git = gitOf({
        ...place,
        folder: own,
        path: settings.path,
        authorities: authorities(settings.caFile),
        credentials,
      });
      return clone({
        git,
        url: place.url,
        ref: request.ref,
        commit: request.commit,
        gitDir: join(own, 'repository'),
        into: source,
        limits: { ...request.limits, timeoutMs, files: MAX_FILES },
        log,
      });
    },
    request.limits.timeoutMs,
    log,
  );
  rmSync(own, { recursive: true, force: true });
  const { configPath, installCommand, buildCommand } = request;
  const { baseImages } = settings;
  const instructions = { kind: 'config', path: configPath } as const;
  const commands = { installCommand, buildCommand };
  prepareContext({ source, place: 'repository', workspace, instructions, ...commands, baseImages, log });
  rmSync(source, { recursive: true, force: true });
  writeFileSync(workspace.commit, `${commit}\n`);
}
