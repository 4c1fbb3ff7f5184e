import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { type Cluster, KubeConfig, loadYaml, type User } from '@kubernetes/client-node';

/** One context of a kubeconfig. File paths are absolute. */
export interface KubeconfigContext {
  name: string;
  cluster: Cluster;
  user: User;
  namespace: string | undefined;
  /** Fields of the user that KubeConfig drops. */
  userFields: UserFields;
  /** Settings for the exec plugin, from the cluster's extension `client.authentication.k8s.io/exec`. */
  pluginSettings: unknown;
  /** The file that defines the user. */
  userFile: string | undefined;
}

export interface UserFields {
  tokenFile?: string;
  'as-uid'?: string;
  'as-groups'?: string[];
  'as-user-extra'?: Record<string, string[]>;
}

type Named<K extends string, T> = { name?: string } & { [Key in K]?: T | null };

interface Content {
  users?: Named<'user', UserFields & { exec?: { command?: string } }>[] | null;
  clusters?: Named<'cluster', { extensions?: Named<'extension', unknown>[] | null }>[] | null;
}

interface File {
  path: string;
  config: KubeConfig;
  content: Content;
}

const PLUGIN_EXTENSION = 'client.authentication.k8s.io/exec';

/**
 * Reads one context. `paths` may be several paths joined by `:` (`;` on Windows). As with kubectl, the first file that
 * defines a name wins, and a missing file is skipped if another file exists.
 * Errors name the file and what is missing in it, never its content.
 */
export async function readContext(paths: string, contextName?: string): Promise<KubeconfigContext> {
  const files = await readFiles(paths.split(path.delimiter).filter((file) => file !== ''));
  const config = merged(files.map((file) => file.config));
  const fail = (problem: string) => new Error(`failed to read kubeconfig ${paths}: ${problem}`);
  const wanted = contextName || config.currentContext;
  if (!wanted) throw fail('it has no current-context; set one');
  const context = config.getContextObject(wanted);
  if (!context) throw fail(`it has no context named ${wanted}`);
  const cluster = config.getCluster(context.cluster);
  if (!cluster) throw fail(`it has no cluster named ${context.cluster} with a server address`);
  // KubeConfig ignores the certificate authority of a context without a user.
  const user = context.user ? config.getUser(context.user) : { name: '' };
  if (!user) throw fail(`it has no user named ${context.user}`);

  const definesUser = ({ content }: File) => content.users?.some(({ name }) => name === user.name);
  const userFile = files.find(definesUser);
  const fields = userFile?.content.users?.find(({ name }) => name === user.name)?.user ?? {};
  const entry = files
    .flatMap(({ content }) => content.clusters ?? [])
    .find(({ name }) => name === cluster.name);
  return {
    name: wanted,
    cluster,
    user: userFile === undefined ? user : withAbsoluteCommand(user, userFile.path),
    namespace: context.namespace,
    userFields: userFile === undefined ? {} : withAbsoluteTokenFile(fields, userFile.path),
    pluginSettings: entry?.cluster?.extensions?.find(({ name }) => name === PLUGIN_EXTENSION)?.extension,
    userFile: userFile?.path,
  };
}

async function readFiles(paths: readonly string[]): Promise<File[]> {
  const results = await Promise.allSettled(paths.map(readOne));
  const failures = results.flatMap((result) =>
    result.status === 'rejected' ? [result.reason as Error] : [],
  );
  const files = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const failure = failures.find((error) => files.length === 0 || !isMissing(error));
  if (failure !== undefined) throw failure;
  return files;
}

const isMissing = ({ cause }: Error) => cause === 'ENOENT';

async function readOne(file: string): Promise<File> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unreadable';
    throw new Error(`failed to read kubeconfig ${file}: ${code}`, { cause: code });
  }
  const config = new KubeConfig();
  let content: Content | null | undefined;
  try {
    content = text.trim() === '' ? undefined : loadYaml<Content | null | undefined>(text);
    // As kubectl, ignore invalid entries that the context does not use.
    if (content) config.loadFromString(text, { onInvalidEntry: 'filter' });
  } catch {
    // The parser's error quotes the file.
    throw new Error(`failed to read kubeconfig ${file}: it is not YAML`);
  }
  const absolute = path.resolve(file);
  config.makePathsAbsolute(path.dirname(absolute));
  return { path: absolute, config, content: content ?? {} };
}

/** KubeConfig.mergeConfig rejects a name that two files define, and prefers the last current-context. */
function merged(configs: readonly KubeConfig[]): KubeConfig {
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: firstOfEachName(configs.flatMap(({ clusters }) => clusters)),
    users: firstOfEachName(configs.flatMap(({ users }) => users)),
    contexts: firstOfEachName(configs.flatMap(({ contexts }) => contexts)),
    currentContext: configs.find(({ currentContext }) => currentContext)?.currentContext,
  });
  return config;
}

function firstOfEachName<T extends { name: string }>(entries: readonly T[]): T[] {
  return entries.filter((entry, index) => entries.findIndex(({ name }) => name === entry.name) === index);
}

/** KubeConfig.makePathsAbsolute leaves the token file and the command of the exec plugin as they are. */
function withAbsoluteTokenFile(fields: UserFields, file: string): UserFields {
  if (!fields.tokenFile) return fields;
  return { ...fields, tokenFile: path.resolve(path.dirname(file), fields.tokenFile) };
}

function withAbsoluteCommand(user: User, file: string): User {
  const command: unknown = user.exec?.command;
  if (typeof command !== 'string' || !command.includes(path.sep)) return user;
  return { ...user, exec: { ...user.exec, command: path.resolve(path.dirname(file), command) } };
}
