/** Contexts of the user's kubeconfig. */
import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { KubeConfig } from '@kubernetes/client-node';
import {
  type KubeconfigContext,
  readContext,
} from '../../src/cluster/kube/access/kubeconfig/kubeconfig-files.ts';
import { completedCluster } from '../../src/cluster/kube/access/kubeconfig/kubeconfig-rules.ts';

/** A context whose API server responds. */
export interface ReachableContext {
  readonly name: string;
  readonly server: string;
  /** KUBECONFIG with absolute paths. undefined: the context is in ~/.kube/config */
  readonly variable: string | undefined;
}

const TIMEOUT_MS = 2_000;

/** An API server requires credentials for /version if anonymous requests are disabled. */
const STATUSES: readonly (number | undefined)[] = [200, 401, 403];

/** KUBECONFIG with absolute paths, for commands in another folder or shell. undefined: it is not set */
export function kubeconfigVariable(env: NodeJS.ProcessEnv): string | undefined {
  const paths = (env['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '');
  return paths.length === 0 ? undefined : paths.map((path) => resolve(path)).join(delimiter);
}

/**
 * The current context of KUBECONFIG or ~/.kube/config. Null if there is no current context, or its API server does not respond
 * within two seconds. Sends no credentials and runs no exec plugin, because the user has not chosen this cluster.
 */
export async function reachableContext(env: NodeJS.ProcessEnv): Promise<ReachableContext | null> {
  const files = env['KUBECONFIG'] || join(env['HOME'] || homedir(), '.kube', 'config');
  if (!env['KUBECONFIG'] && !existsSync(files)) return null;
  try {
    const context = await readContext(files);
    if (!(await responds(context))) return null;
    return { name: context.name, server: context.cluster.server, variable: kubeconfigVariable(env) };
  } catch {
    // A kubeconfig that cannot be read offers no cluster.
    return null;
  }
}

async function responds({ cluster, user }: KubeconfigContext): Promise<boolean> {
  const completed = completedCluster(cluster, user);
  const config = new KubeConfig();
  config.loadFromClusterAndUser(completed, { name: '' });
  const options: https.RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const url = new URL('version', completed.server.replace(/\/?$/, '/'));
  const { request } = url.protocol === 'http:' ? http : https;
  const { agent } = options;
  try {
    return await new Promise((resolve, reject) => {
      const sent = request(url, { ...options, signal: AbortSignal.timeout(TIMEOUT_MS) }, (response) => {
        response.resume();
        resolve(STATUSES.includes(response.statusCode));
      });
      sent.on('error', reject);
      sent.end();
    });
  } finally {
    if (typeof agent === 'object') agent.destroy();
  }
}

/**
 * Writes a kubeconfig with one context only, so that every later command uses this cluster.
 * @param kubeconfig the file with the context; undefined: KUBECONFIG or ~/.kube/config
 * @throws Error with the message of kubectl, for example if there is no such context
 */
export async function writeContext(
  kubectlPath: string,
  context: string,
  kubeconfig: string | undefined,
  path: string,
): Promise<void> {
  const file = kubeconfig === undefined ? [] : ['--kubeconfig', kubeconfig];
  const args = [...file, 'config', 'view', '--raw', '--minify', '--flatten', '--context', context];
  try {
    const { stdout } = await promisify(execFile)(kubectlPath, [...args, '--output=json']);
    writeFileSync(path, stdout, { mode: 0o600 });
  } catch (cause) {
    const { stderr, message } = cause as Error & { stderr?: string };
    throw new Error(
      `failed to use the context ${context}: ${stderr?.trim() || message}. To list the contexts: kubectl config get-contexts`,
      { cause },
    );
  }
}
