import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parse } from 'yaml';

/** The parts of a kubeconfig file that Berth understands, with the names of the file. */
export interface KubeconfigCluster {
  server: string;
  'certificate-authority'?: string;
  'certificate-authority-data'?: string;
  'insecure-skip-tls-verify'?: boolean;
  'tls-server-name'?: string;
  'proxy-url'?: string;
}

export interface ExecPlugin {
  apiVersion: string;
  command: string;
  args?: string[] | null;
  env?: { name: string; value: string }[] | null;
  installHint?: string;
  provideClusterInfo?: boolean;
}

export interface KubeconfigUser {
  token?: string;
  tokenFile?: string;
  'client-certificate'?: string;
  'client-certificate-data'?: string;
  'client-key'?: string;
  'client-key-data'?: string;
  username?: string;
  password?: string;
  exec?: ExecPlugin;
  'auth-provider'?: { name: string };
  as?: string;
  'as-groups'?: string[];
}

export interface KubeconfigContext {
  cluster: string;
  user: string;
  namespace?: string;
}

/** One resolved context of a kubeconfig. File paths are absolute. */
export interface ResolvedKubeconfig {
  cluster: KubeconfigCluster;
  user: KubeconfigUser;
  namespace: string | undefined;
}

type Named<K extends string, T> = { name: string } & Record<K, T>;

interface KubeconfigFile {
  'current-context'?: string;
  clusters?: Named<'cluster', KubeconfigCluster>[] | null;
  users?: Named<'user', KubeconfigUser>[] | null;
  contexts?: Named<'context', KubeconfigContext>[] | null;
}

const PATH_FIELDS = ['certificate-authority', 'client-certificate', 'client-key', 'tokenFile'] as const;

/**
 * Reads one context of a kubeconfig. As with kubectl, `files` may be several paths joined by `:` (`;` on Windows),
 * and the first file that defines a name wins.
 * Errors name the file and what is missing in it, never its content.
 */
export async function readKubeconfig(files: string, contextName?: string): Promise<ResolvedKubeconfig> {
  const parsed = await Promise.all(
    files
      .split(path.delimiter)
      .filter((file) => file !== '')
      .map(readOne),
  );
  const wanted = contextName ?? parsed.find((file) => file['current-context'])?.['current-context'];
  if (!wanted) throw new Error(`failed to read kubeconfig ${files}: it has no current-context; set one`);
  const context = named(
    parsed.flatMap((file) => file.contexts ?? []),
    wanted,
    'context',
    files,
  ).context;
  const cluster = named(
    parsed.flatMap((file) => file.clusters ?? []),
    context.cluster,
    'cluster',
    files,
  ).cluster;
  const user = context.user
    ? named(
        parsed.flatMap((file) => file.users ?? []),
        context.user,
        'user',
        files,
      ).user
    : {};
  rejectUnsupported(files, cluster, user ?? {});
  return { cluster, user: user ?? {}, namespace: context.namespace };
}

async function readOne(file: string): Promise<KubeconfigFile> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    throw new Error(
      `failed to read kubeconfig ${file}: ${(error as NodeJS.ErrnoException).code ?? 'unreadable'}`,
    );
  }
  let config: KubeconfigFile | null;
  try {
    config = parse(text) as KubeconfigFile | null;
  } catch {
    throw new Error(`failed to read kubeconfig ${file}: it is not YAML`);
  }
  if (config === null || typeof config !== 'object') {
    throw new Error(`failed to read kubeconfig ${file}: it is empty`);
  }
  const folder = path.dirname(path.resolve(file));
  for (const entry of config.clusters ?? []) makePathsAbsolute(entry.cluster, folder);
  for (const entry of config.users ?? []) makePathsAbsolute(entry.user, folder);
  return config;
}

function makePathsAbsolute(entry: object | null | undefined, folder: string): void {
  const fields = (entry ?? {}) as Record<string, unknown>;
  for (const field of PATH_FIELDS) {
    const value = fields[field];
    if (typeof value === 'string' && value !== '') fields[field] = path.resolve(folder, value);
  }
}

function named<T extends { name: string }>(entries: T[], name: string, what: string, files: string): T {
  const found = entries.find((entry) => entry.name === name);
  if (found === undefined)
    throw new Error(`failed to read kubeconfig ${files}: it has no ${what} named ${name}`);
  return found;
}

function rejectUnsupported(files: string, cluster: KubeconfigCluster, user: KubeconfigUser): void {
  if (!cluster?.server)
    throw new Error(`failed to read kubeconfig ${files}: its cluster has no server address`);
  if (cluster['proxy-url']) {
    throw new Error(
      `failed to read kubeconfig ${files}: proxy-url is not supported; run Berth where it reaches the API server directly`,
    );
  }
  if (user['auth-provider']) {
    throw new Error(
      `failed to read kubeconfig ${files}: auth-provider ${user['auth-provider'].name} is not supported ` +
        '(Kubernetes removed it in 1.26); use an exec plugin or a token',
    );
  }
}
