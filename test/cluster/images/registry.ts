/** A real registry on loopback: the one of the distribution project, with its storage in a temporary folder. */
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

/** The authority whose tokens the registry takes (https://distribution.github.io/distribution/spec/auth/token). */
export interface TokenAuth {
  /**
   * Where clients are sent for a token: the whole URL of the token server's endpoint. On this machine name it localhost:
   * crane follows to no private address, unless it is the registry's own.
   */
  realm: string;
  /** Audience of the tokens. */
  service: string;
  issuer: string;
  /** Certificates whose keys sign the tokens, PEM; or … */
  rootCertificates?: string;
  /** … the public keys themselves: a JSON Web Key Set, as text. One of the two must be there. */
  jwks?: string;
  /** Default: those that the registry takes by itself (RS256, ES256, EdDSA and their kin). */
  signingAlgorithms?: readonly string[];
}

export interface RegistryOptions {
  /** Default: everybody may do everything. */
  auth?: TokenAuth;
  /** Certificate and key, PEM. Default: plain HTTP. */
  tls?: { cert: string; key: string };
  /** false: it takes no deletions. */
  deletes?: boolean;
  /** Default: a port that is free now. */
  port?: number;
  log?: (line: string) => void;
}

export interface LocalRegistry {
  /** `127.0.0.1:port`: what the names of its images begin with. */
  readonly host: string;
  readonly port: number;
  /** `http://127.0.0.1:port`, or https. */
  readonly url: string;
  readonly stateDir: string;
  /** Ends the process alone; images and port stay. `SIGKILL` for a crash. */
  halt(signal?: NodeJS.Signals): Promise<void>;
  /** Starts it again on the same port and storage, and waits until it answers. Other keys of its authority may be given. */
  start(auth?: TokenAuth): Promise<void>;
  /** Ends it and removes its state. */
  stop(): Promise<void>;
}

const NAME = 'registry';

/** Starts a registry and waits until it answers; ends with this process, however that ends. */
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
      // Without this it looks for a collector of traces on this machine, for ever.
      const env = { ...process.env, OTEL_TRACES_EXPORTER: 'none' } as Record<string, string>;
      await startProcess(stateDir, { name: NAME, command, args: ['serve', config], env });
      await waitForAnswer(stateDir, port, options.tls !== undefined);
    },
    stop: async () => {
      await halt();
      watchdog.release();
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}

/** JSON is YAML too. */
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
      // Uploads that were under way go on after a restart.
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

/** Any answer to GET /v2/ will do: with an authority it is 401. */
async function waitForAnswer(stateDir: string, port: number, tls: boolean): Promise<void> {
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
