import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DemoStack } from './stack.ts';

const FOLDER = '.berth';
const FILE = join(FOLDER, 'demo.env');

/** Whether the demo that wrote the file still answers. One that was killed has left it behind. */
async function isAlive(file: string): Promise<boolean> {
  const url = existsSync(file) ? /^BERTH_URL='(.*)'$/m.exec(readFileSync(file, 'utf8'))?.[1] : undefined;
  if (url === undefined) return false;
  try {
    return (await fetch(new URL('/healthz', url), { signal: AbortSignal.timeout(1000) })).ok;
  } catch {
    return false;
  }
}

/**
 * Writes what another terminal needs to talk to the running demo, as shell assignments.
 * @returns the file: `.berth/demo.env`; beside another running demo, one named by the port
 */
export async function rememberDemo(stack: DemoStack): Promise<string> {
  mkdirSync(FOLDER, { recursive: true });
  const file = (await isAlive(FILE)) ? join(FOLDER, `demo-${new URL(stack.url).port}.env`) : FILE;
  const values = {
    BERTH_URL: stack.url,
    BERTH_API_KEY: stack.apiKey,
    BERTH_TENANT_ID: stack.tenantId,
    DATABASE_URL: stack.databaseUrl,
    KUBECONFIG: stack.kubeconfigPath,
  };
  const lines = Object.entries(values).map(([name, value]) => `${name}='${value}'\n`);
  writeFileSync(file, lines.join(''), { mode: 0o600 });
  return file;
}

/** Deletes the file at the end of the demo. */
export function forgetDemo(file: string): void {
  rmSync(file, { force: true });
}
