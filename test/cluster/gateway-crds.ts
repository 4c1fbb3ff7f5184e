/** The CustomResourceDefinition of the Gateway API, from its Go module. gateway-api/ pins the version. */
import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cacheRoot, pinnedVersion } from './binaries.ts';

const MODULE = 'sigs.k8s.io/gateway-api';
const moduleDir = join(dirname(fileURLToPath(import.meta.url)), 'gateway-api');

/** Name of the CustomResourceDefinition of HTTPRoutes. */
export const HTTP_ROUTES = 'httproutes.gateway.networking.k8s.io';

/**
 * File with the CustomResourceDefinition of HTTPRoutes (standard channel). Downloaded with Go once, and cached next to the
 * programs of the cluster. It is too large for a client-side `kubectl apply`.
 */
export async function httpRoutesCrd(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const version = pinnedVersion(readFileSync(join(moduleDir, 'go.mod'), 'utf8'), MODULE);
  const cached = join(dirname(cacheRoot(env)), `httproutes-${version}.yaml`);
  if (existsSync(cached)) return cached;
  const path = [env['PATH'], '/usr/local/go/bin'].filter(Boolean).join(delimiter);
  const options = { cwd: moduleDir, env: { ...env, PATH: path, GOWORK: 'off', GOFLAGS: '' } };
  const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', MODULE], options);
  const { Dir: folder } = JSON.parse(stdout) as { Dir: string };
  mkdirSync(dirname(cached), { recursive: true });
  const file = join(folder, 'config/crd/standard/gateway.networking.k8s.io_httproutes.yaml');
  // Renamed when complete, because other processes may read it at the same time.
  const temporary = `${cached}.${process.pid}`;
  copyFileSync(file, temporary);
  renameSync(temporary, cached);
  return cached;
}
