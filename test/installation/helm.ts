import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { resolveHelm } from '../cluster/helm.ts';
import type { KubectlAccess } from '../cluster/kubectl.ts';

/**
 * Runs the pinned Helm against a cluster and returns what it prints; builds it where it is missing.
 * @throws Error with Helm's own message
 */
export async function helm(access: KubectlAccess, args: readonly string[]): Promise<string> {
  const program = await resolveHelm();
  const folder = join(tmpdir(), 'berth-helm');
  try {
    const { stdout } = await promisify(execFile)(program, args, {
      maxBuffer: 64 * 1024 * 1024,
      env: {
        ...process.env,
        KUBECONFIG: access.kubeconfigPath,
        // Nothing of the user's own Helm joins in.
        HELM_CONFIG_HOME: join(folder, 'config'),
        HELM_CACHE_HOME: join(folder, 'cache'),
        HELM_DATA_HOME: join(folder, 'data'),
      },
    });
    return stdout;
  } catch (error) {
    const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
    throw new Error(`failed to run helm ${args.join(' ')}: ${stderr || String(error)}`, { cause: error });
  }
}
