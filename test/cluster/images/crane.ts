import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { resolveImageTools } from './tools.ts';

const run = promisify(execFile);

/**
 * Runs crane, and returns its output without the final line end: `crane(['digest', '127.0.0.1:5000/a/b:1'])`. Accepts plain
 * HTTP and any certificate.
 * @param options.dockerConfig folder with the credentials of registries, from `writeDockerConfig`
 * @param options.insecure false: checks certificates, and uses plain HTTP for loopback and private addresses only
 * @throws Error with the message of crane
 */
export async function crane(
  args: readonly string[],
  options: { dockerConfig?: string; insecure?: boolean } = {},
): Promise<string> {
  const { crane: command } = await resolveImageTools(['crane']);
  const env = options.dockerConfig ? { ...process.env, DOCKER_CONFIG: options.dockerConfig } : process.env;
  try {
    const { insecure = true } = options;
    const words = insecure ? [...args, '--insecure'] : args;
    const { stdout } = await run(command, words, { env, maxBuffer: 1 << 26 });
    return stdout.trimEnd();
  } catch (cause) {
    // Warnings before the error say that crane tries another request.
    const message = (cause as { stderr?: string }).stderr?.trim().replace(/^[\s\S]*^Error: /m, '');
    throw new Error(`failed to run crane ${args.join(' ')}: ${message || (cause as Error).message}`, {
      cause,
    });
  }
}

/** Writes the `config.json` of registry clients into a folder. Returns the folder. */
export function writeDockerConfig(
  folder: string,
  passwords: Readonly<Record<string, { username: string; password: string }>>,
): string {
  const auths = Object.entries(passwords).map(([host, { username, password }]) => [
    host,
    { auth: Buffer.from(`${username}:${password}`).toString('base64') },
  ]);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ auths: Object.fromEntries(auths) }), {
    mode: 0o600,
  });
  return folder;
}
