import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DemoStack } from './stack.ts';

const FOLDER = '.berth';
const FILE = join(FOLDER, 'demo.env');

/** Whether the demo that wrote the file still responds. A demo that was killed does not delete its file. */
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
 * Writes the variables that another terminal needs to use the running demo, as shell assignments.
 * @returns path of the file: `.berth/demo.env`, or a name with the port if another demo already uses that file
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
  const lines = Object.entries(values).map(
    ([name, value]) => `${name}='${value.replaceAll("'", "'\\''")}'\n`,
  );
  writeFileSync(file, lines.join(''), { mode: 0o600 });
  return file;
}

/** Deletes the file at the end of the demo. */
export function forgetDemo(file: string): void {
  rmSync(file, { force: true });
}
