/** Clients of a registry, each with credentials of its own: crane with a configuration of its own. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { resolveImageTools } from '../../cluster/images/tools.ts';

export interface Crane {
  /** Runs crane; its standard output. @throws Error with what it said */
  run(...args: string[]): Promise<string>;
  /** As `run`, for what has to fail: what crane said. @throws Error when it does not fail */
  refused(...args: string[]): Promise<string>;
  /** As `docker login` does. */
  login(host: string, username: string, password: string): Promise<void>;
  /** Pushes a small image that differs by its text; its digest. */
  push(reference: string, text: string): Promise<string>;
}

export interface Cranes {
  /** A client; with the content of a docker config, or not logged in. */
  client(dockerConfig?: string): Crane;
  stop(): void;
}

const TIMEOUT_MS = 60_000;

export async function startCranes(): Promise<Cranes> {
  const { crane: command } = await resolveImageTools(['crane']);
  const folder = mkdtempSync(join(tmpdir(), 'berth-crane-'));
  let clients = 0;
  return {
    client(dockerConfig) {
      clients += 1;
      const home = join(folder, String(clients));
      mkdirSync(home);
      if (dockerConfig !== undefined) writeFileSync(join(home, 'config.json'), dockerConfig);
      const env = { PATH: process.env['PATH'], HOME: home, DOCKER_CONFIG: home };
      const options = { env, timeout: TIMEOUT_MS };
      const run = async (...args: string[]) =>
        (await promisify(execFile)(command, args, options)).stdout.trim();
      return {
        run,
        async refused(...args) {
          const answer = await run(...args).then(
            (output) => `done: ${output}`,
            (error: Error & { stderr?: string }) => ({ said: error.stderr ?? String(error) }),
          );
          if (typeof answer === 'string')
            throw new Error(`crane ${args.join(' ')} was not refused; ${answer}`);
          return answer.said;
        },
        async login(host, username, password) {
          const login = promisify(execFile)(
            command,
            ['auth', 'login', host, '--username', username, '--password-stdin'],
            options,
          );
          login.child.stdin?.end(password);
          await login;
        },
        async push(reference, text) {
          const layer = join(home, 'layer.tar');
          writeFileSync(layer, tarOf('index.html', text));
          const pushed = await run('append', '--new_layer', layer, '--new_tag', reference);
          return pushed.slice(pushed.indexOf('@') + 1);
        },
      };
    },
    stop: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** A tar archive of one file. */
export function tarOf(name: string, text: string): Buffer {
  const content = Buffer.from(text);
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write('0000644\0', 100);
  header.write('0000000\0', 108);
  header.write('0000000\0', 116);
  header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124);
  header.write('00000000000\0', 136);
  header.write('        ', 148);
  header.write('0', 156);
  header.write('ustar\u000000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
  return Buffer.concat([header, content, padding, Buffer.alloc(1024)]);
}
