/** A git server on loopback: git's http-backend over https, with its own CA. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { authority } from '../../unit/cluster/kube/self-signed.ts';
import { BinariesMissingError } from '../binaries.ts';
import { freePorts } from '../ports.ts';
import { startWatchdog } from '../processes.ts';
import { answerAsCgi } from './cgi.ts';
import {
  type CommitOptions,
  commitFiles,
  createRepository,
  type FileChanges,
  git,
} from './git-repository.ts';

/** A received request. */
export interface GitRequest {
  readonly method: string;
  /** Including the query: `/team/app.git/info/refs?service=git-upload-pack`. */
  readonly path: string;
  /** Status of the response. Undefined until it is sent. */
  status: number | undefined;
}

export interface GitOverHttps {
  /** `https://127.0.0.1:port`. The URL of the repository team/app is `${url}/team/app.git`. */
  readonly url: string;
  readonly port: number;
  /** Folder of the repositories. */
  readonly stateDir: string;
  /** CA certificate, PEM. */
  readonly ca: string;
  /** Received requests, in order. */
  readonly requests: GitRequest[];
  /** Required token, as password of any user or as bearer token. Undefined: everyone may read and push. */
  token: string | undefined;
  /** Whether to leave requests without a response: all, or those that match. */
  hang: boolean | ((request: GitRequest) => boolean);
  /** If set, every response has this status. */
  status: number | undefined;
  /**
   * Writes a commit on top of a branch, and returns its id. Creates repository and branch if necessary.
   * @param repository `team/app`
   */
  commitFiles(repository: string, files: FileChanges, options?: CommitOptions): Promise<string>;
  /** Runs git in the repository on the server's disk, for example to create tags or delete branches. */
  git(repository: string, ...args: string[]): Promise<string>;
  /** Stops listening, and closes all connections. Repositories and port stay. */
  halt(): Promise<void>;
  /** Listens again on the same port. */
  start(): Promise<void>;
  /** Stops the server, and removes the repositories. */
  stop(): Promise<void>;
}

export interface GitHostOptions {
  token?: string;
  /** Further names and addresses of its certificate, for clients in another network. */
  names?: readonly string[];
}

/**
 * Starts a git server. The first commit creates a repository.
 * @throws BinariesMissingError if git or its http-backend is not installed
 */
export async function startGitOverHttps(options: GitHostOptions = {}): Promise<GitOverHttps> {
  const backend = httpBackend();
  const stateDir = mkdtempSync(join(realpathSync(tmpdir()), 'berth-git-'));
  const watchdog = startWatchdog(stateDir, { removeState: true });
  const issuer = authority();
  const requests: GitRequest[] = [];
  const children = new Set<ChildProcess>();
  const names = ['127.0.0.1', 'localhost', ...(options.names ?? [])];
  const server = createServer(issuer.issue(names), (request, response) => {
    const entry: GitRequest = { method: request.method ?? '', path: request.url ?? '', status: undefined };
    requests.push(entry);
    response.once('finish', () => {
      entry.status = response.statusCode;
    });
    const { hang } = served;
    if (typeof hang === 'boolean' ? hang : hang(entry)) return;
    if (served.status !== undefined) response.writeHead(served.status).end();
    else if (served.token !== undefined && !isAuthorized(request, served.token)) reject(response);
    else {
      const child = spawn(backend, {
        env: cgiEnvironment(request, stateDir),
        stdio: ['pipe', 'pipe', 'ignore'],
      });
      children.add(child);
      child.once('close', () => children.delete(child));
      answerAsCgi(child, request, response);
    }
  });
  const port = await listenOnFreePort(server);
  const halt = async () => {
    for (const child of children) child.kill('SIGKILL');
    await close(server);
  };
  const served: GitOverHttps = {
    url: `https://127.0.0.1:${port}`,
    port,
    stateDir,
    ca: issuer.cert,
    requests,
    token: options.token,
    hang: false,
    status: undefined,
    commitFiles: async (repository, files, commitOptions) =>
      commitFiles(await createRepository(stateDir, repository), files, commitOptions),
    git: async (repository, ...args) => git(join(stateDir, `${repository}.git`), args),
    halt,
    start: () => listen(server, port),
    stop: async () => {
      await halt();
      watchdog.release();
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
  return served;
}

function httpBackend(): string {
  let folder: string;
  try {
    folder = execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim();
  } catch (cause) {
    throw new BinariesMissingError(
      `A git server needs git, which cannot be run: ${(cause as Error).message}. Install the package git.`,
    );
  }
  const backend = join(folder, 'git-http-backend');
  if (existsSync(backend)) return backend;
  throw new BinariesMissingError(`A git server needs git's http-backend, and there is none in ${folder}.`);
}

/** Variables of RFC 3875 and `git help http-backend`. */
function cgiEnvironment(request: IncomingMessage, stateDir: string): Record<string, string> {
  const { pathname, search } = new URL(request.url ?? '/', 'https://127.0.0.1');
  const header = (name: string) => String(request.headers[name] ?? '');
  return {
    PATH: process.env['PATH'] ?? '',
    GIT_PROJECT_ROOT: stateDir,
    GIT_HTTP_EXPORT_ALL: '1',
    // Ignores the git settings of the current user.
    GIT_CONFIG_NOSYSTEM: '1',
    HOME: stateDir,
    REQUEST_METHOD: request.method ?? 'GET',
    PATH_INFO: decodeURIComponent(pathname),
    QUERY_STRING: search.slice(1),
    CONTENT_TYPE: header('content-type'),
    CONTENT_LENGTH: header('content-length'),
    HTTP_CONTENT_ENCODING: header('content-encoding'),
    GIT_PROTOCOL: header('git-protocol'),
    // http-backend allows pushes only for a named user.
    REMOTE_USER: 'test',
    REMOTE_ADDR: '127.0.0.1',
  };
}

function isAuthorized(request: IncomingMessage, token: string): boolean {
  const [scheme, value = ''] = (request.headers.authorization ?? '').split(' ');
  if (scheme === 'Bearer') return value === token;
  const credentials = Buffer.from(value, 'base64').toString();
  return scheme === 'Basic' && credentials.slice(credentials.indexOf(':') + 1) === token;
}

function reject(response: ServerResponse): void {
  response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
}

/** Listens on a port that can be used again after `halt`. */
async function listenOnFreePort(server: Server): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const [port = 0] = await freePorts(1);
    try {
      await listen(server, port);
      return port;
    } catch (error) {
      if (attempt >= 4) throw error;
    }
  }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
