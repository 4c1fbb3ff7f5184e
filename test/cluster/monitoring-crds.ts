/**
 * The custom resource definitions of the Prometheus operator. They are part of its Go module. prometheus-operator/go.mod pins
 * the version.
 */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cacheRoot, pinnedVersion } from './binaries.ts';

const MODULE = 'github.com/prometheus-operator/prometheus-operator';
const moduleDir = join(dirname(fileURLToPath(import.meta.url)), 'prometheus-operator');
const KINDS = ['podmonitors', 'prometheusrules', 'servicemonitors'] as const;

/** Names of the definitions. */
export const MONITORING_CRDS = KINDS.map((kind) => `${kind}.monitoring.coreos.com`);

/**
 * Folder with the definitions of PodMonitor, PrometheusRule and ServiceMonitor. The first call downloads them with Go and stores
 * them in the cache.
 */
export async function monitoringCrds(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const version = pinnedVersion(readFileSync(join(moduleDir, 'go.mod'), 'utf8'), MODULE);
  const cached = join(dirname(cacheRoot(env)), `monitoring-crds-${version}`);
  if (existsSync(cached)) return cached;
  const path = [env['PATH'], '/usr/local/go/bin'].filter(Boolean).join(delimiter);
  const options = { cwd: moduleDir, env: { ...env, PATH: path, GOWORK: 'off', GOFLAGS: '' } };
  const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', MODULE], options);
  const { Dir: folder } = JSON.parse(stdout) as { Dir: string };
  mkdirSync(dirname(cached), { recursive: true });
  // The folder appears complete, because other processes may need it at the same time.
  const temporary = mkdtempSync(`${cached}.`);
  for (const kind of KINDS) {
    const file = `monitoring.coreos.com_${kind}.yaml`;
    cpSync(join(folder, 'example/prometheus-operator-crd', file), join(temporary, file));
  }
  try {
    renameSync(temporary, cached);
  } catch (error) {
    if (!existsSync(cached)) throw error;
  }
  return cached;
}
