/** A registry on loopback: that of the distribution project, with its storage in a temporary folder. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts, isPortTaken } from '../ports.ts';
import {
  assertRunning,
  ProcessDiedError,
  startProcess,
  startWatchdog,
  stopProcess,
  type Watchdog,
} from '../processes.ts';
import { waitFor } from '../wait.ts';
import { resolveImageTools } from './tools.ts';

/** The token server whose tokens the registry accepts (https://distribution.github.io/distribution/spec/auth/token). */
export interface TokenAuth {
  /**
   * URL of the token endpoint, to which clients are sent. Use the host name localhost for this machine, because crane does not
   * follow redirects to other private addresses.
   */
  realm: string;
  /** Audience of the tokens. */
  service: string;
  issuer: string;
  /** CA certificates of the signing keys, PEM. Either these or `jwks` must be set. */
  rootCertificates?: string;
  /** Public signing keys: a JSON Web Key Set, as text. */
  jwks?: string;
  /** Default: those of the registry (such as RS256, ES256 and EdDSA). */
  signingAlgorithms?: readonly string[];
}

export interface RegistryOptions {
  /** Default: everyone may pull, push and delete. */
  auth?: TokenAuth;
  /** Certificate and key, PEM. Default: plain HTTP. */
  tls?: { cert: string; key: string };
  /** If false, it rejects deletions. */
  deletes?: boolean;
  /** Default: a free port. */
  port?: number;
  log?: (line: string) => void;
}

export interface LocalRegistry {
  /** Prefix of image names: `127.0.0.1:port`. */
  readonly host: string;
  readonly port: number;
  /** `http://127.0.0.1:port`, or https. */
  readonly url: string;
  readonly stateDir: string;
  /** Stops only the process. Images and port stay. `SIGKILL` simulates a crash. */
  halt(signal?: NodeJS.Signals): Promise<void>;
  /** Starts it again with the same port and storage, and waits until it responds. @param auth replaces the token server */
  start(auth?: TokenAuth): Promise<void>;
  /** Stops it, and removes its state. */
  stop(): Promise<void>;
}

const NAME = 'registry';

/** Starts a registry, and waits until it responds. It stops when this process ends. */
export async function startRegistry(options: RegistryOptions = {}): Promise<LocalRegistry> {
  const { registry: command } = await resolveImageTools(['registry'], { log: options.log });
  for (let attempt = 1; ; attempt++) {
    const stateDir = mkdtempSync(join(realpathSync(tmpdir()), 'berth-registry-'));
    const port = options.port ?? (await freePorts(1))[0] ?? 0;
    const watchdog = startWatchdog(stateDir, { removeState: true });
    const registry = localRegistry({ command, stateDir, port, watchdog, options });
    try {
      await registry.start();
      return registry;
    } catch (error) {
      await registry.stop();
      const retry = error instanceof ProcessDiedError && isPortTaken(error.log) && attempt < 4;
      if (!retry || options.port !== undefined) throw error;
    }
  }
}

interface Place {
  command: string;
  stateDir: string;
  port: number;
  watchdog: Watchdog;
  options: RegistryOptions;
}

function localRegistry({ command, stateDir, port, watchdog, options }: Place): LocalRegistry {
  const host = `127.0.0.1:${port}`;
  const httpSecret = randomBytes(16).toString('hex');
  let auth = options.auth;
  const halt = (signal?: NodeJS.Signals) => stopProcess(stateDir, NAME, { signal, timeoutMs: 5000 });
  return {
    host,
    port,
    url: `${options.tls ? 'https' : 'http'}://${host}`,
    stateDir,
    halt,
    start: async (newAuth) => {
      auth = newAuth ?? auth;
      const config = writeConfig(stateDir, host, httpSecret, { ...options, auth });
      // Without this, it tries to reach a trace collector on this machine forever.
      const env = { ...process.env, OTEL_TRACES_EXPORTER: 'none' } as Record<string, string>;
      await startProcess(stateDir, { name: NAME, command, args: ['serve', config], env });
      await waitForResponse(stateDir, port, options.tls !== undefined);
    },
    stop: async () => {
      await halt();
      watchdog.release();
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}

/** Writes JSON, which is valid YAML. */
function writeConfig(
  stateDir: string,
  host: string,
  httpSecret: string,
  { auth, tls, deletes = true }: RegistryOptions,
): string {
  const file = (name: string, content: string | undefined): string | undefined => {
    if (content === undefined) return undefined;
    const path = join(stateDir, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };
  const config = {
    version: '0.1',
    log: { level: 'info', accesslog: { disabled: false } },
    storage: {
      filesystem: { rootdirectory: join(stateDir, 'storage') },
      delete: { enabled: deletes },
      maintenance: { uploadpurging: { enabled: false } },
    },
    http: {
      addr: host,
      // With a constant secret, uploads in progress can continue after a restart.
      secret: httpSecret,
      tls: tls && { certificate: file('tls.crt', tls.cert), key: file('tls.key', tls.key) },
    },
    auth: auth && {
      token: {
        realm: auth.realm,
        service: auth.service,
        issuer: auth.issuer,
        rootcertbundle: file('authority.pem', auth.rootCertificates),
        jwks: file('authority.json', auth.jwks),
        signingalgorithms: auth.signingAlgorithms,
      },
    },
  };
  const path = join(stateDir, 'config.yml');
  writeFileSync(path, JSON.stringify(config, null, 2), { mode: 0o600 });
  return path;
}

/** Any response to GET /v2/ is good enough. With a token server it is 401. */
async function waitForResponse(stateDir: string, port: number, tls: boolean): Promise<void> {
  const { request } = tls ? await import('node:https') : await import('node:http');
  const answered = () =>
    new Promise<true>((resolve, reject) => {
      const options = { host: '127.0.0.1', port, path: '/v2/', rejectUnauthorized: false, agent: false };
      const call = request(options, (response) => {
        response.resume();
        resolve(true);
      });
      call.once('error', reject).end();
    });
  await waitFor('the registry', answered, {
    timeoutMs: 60_000,
    giveUpIf: () => assertRunning(stateDir, [NAME]),
  });
}
