import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** A cluster, and the kubectl to use. */
export interface KubectlAccess {
  kubectlPath: string;
  kubeconfigPath: string;
}

/**
 * Runs kubectl, and returns its output.
 * @throws Error with the message of kubectl
 */
export function kubectl(access: KubectlAccess, args: readonly string[], input?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      access.kubectlPath,
      ['--kubeconfig', access.kubeconfigPath, ...args],
      { maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        if (error)
          reject(new Error(`failed to run kubectl ${args.join(' ')}: ${stderr.trim() || error.message}`));
        else resolve(stdout);
      },
    );
    child.stdin?.on('error', () => {});
    child.stdin?.end(input ?? '');
  });
}

export interface ServiceAccountRef {
  namespace: string;
  name: string;
}

interface KubeconfigView {
  clusters: unknown[];
  'current-context': string;
  contexts: { name: string; context: { cluster: string; user: string; namespace?: string } }[];
}

/**
 * Writes a kubeconfig with the rights of a service account to `path`. The token comes from the TokenRequest API. Works with
 * any cluster for which `access` has administrator rights.
 */
export async function writeServiceAccountKubeconfig(
  access: KubectlAccess,
  account: ServiceAccountRef,
  path: string,
  options: { durationSeconds?: number } = {},
): Promise<void> {
  const [token, view] = await Promise.all([
    kubectl(access, [
      'create',
      'token',
      account.name,
      `--namespace=${account.namespace}`,
      `--duration=${options.durationSeconds ?? 24 * 3600}s`,
    ]),
    kubectl(access, ['config', 'view', '--raw', '--minify', '--flatten', '--output=json']),
  ]);
  const config = JSON.parse(view) as KubeconfigView;
  const user = `${account.namespace}-${account.name}`;
  const content = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: config.clusters,
    users: [{ name: user, user: { token: token.trim() } }],
    contexts: config.contexts.map(({ name, context }) => ({ name, context: { ...context, user } })),
    'current-context': config['current-context'],
  };
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
}
