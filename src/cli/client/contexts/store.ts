import { randomUUID } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { UsageError } from '../../command/usage-error.ts';
import { quoted } from '../table.ts';

/** Contexts: the APIs that a user works with. They are in one file that only the user can read. */

interface StoredBase {
  /** Base URL of the API. */
  readonly url: string;
  /** For callers with several tenants. */
  readonly tenant_id?: string;
}

export interface StoredKey extends StoredBase {
  readonly api_key: string;
}

/** A token of `berth login`, which expires. */
export interface StoredToken extends StoredBase {
  readonly access_token: string;
  /** ISO 8601. */
  readonly expires_at: string;
}

export type StoredContext = StoredKey | StoredToken;

/** The key or token of a context. */
export const secretOf = (context: StoredContext): string =>
  'api_key' in context ? context.api_key : context.access_token;

export interface Contexts {
  /** Name of the context that commands use. null: none. */
  readonly current: string | null;
  readonly contexts: Readonly<Record<string, StoredContext>>;
}

export const contextsPath = (configHome: string): string => join(configHome, 'berth', 'contexts.json');

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** @throws UsageError */
export function contextName(name: string): string {
  if (NAME.test(name)) return name;
  throw new UsageError(
    `"${name}" is not a name of a context: use letters, digits, dots, dashes and underscores`,
  );
}

const isText = (value: unknown) => typeof value === 'string' && value !== '';

function isContext(value: unknown): boolean {
  const {
    url,
    api_key: key,
    access_token: token,
    expires_at: end,
  } = (value ?? {}) as Partial<StoredKey & StoredToken>;
  return isText(url) && (isText(key) || (isText(token) && isText(end)));
}

function isContexts(value: unknown): value is Contexts {
  const { current, contexts } = (value ?? {}) as Partial<Contexts>;
  const isObject = typeof contexts === 'object' && contexts !== null && !Array.isArray(contexts);
  if (!isObject || !(current === null || isText(current))) return false;
  return Object.values(contexts).every(isContext);
}

/** The text of the file. null: there is no file. */
function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new UsageError(`failed to read ${path} (${code}): correct its permissions`, 1);
  }
}

/**
 * Reads the contexts. The file contains keys, so no message quotes it.
 * @throws UsageError when the file cannot be read
 */
export function readContexts(configHome: string): Contexts {
  const path = contextsPath(configHome);
  const text = textOf(path);
  if (text === null) return { current: null, contexts: {} };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  if (isContexts(value)) return value;
  throw new UsageError(
    `failed to read ${path}: it does not contain contexts; remove it and run berth login`,
    1,
  );
}

/** The file itself, if the path is a symbolic link. */
function targetOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** Replaces the file at once, so that an interrupted write loses nothing. Only the user can read the file. */
function writeContexts(configHome: string, contexts: Contexts): void {
  const path = targetOf(contextsPath(configHome));
  const temporary = `${path}.${randomUUID()}`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const file = openSync(temporary, 'wx', 0o600);
    try {
      writeSync(file, `${JSON.stringify(contexts, null, 2)}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`failed to write ${path} (${code}): correct the permissions of its folder`, 1);
  }
}

/**
 * Changes the contexts. Reads them directly before the write, so that a change of another command during a question is
 * not lost.
 */
export function changeContexts(configHome: string, change: (contexts: Contexts) => Contexts): void {
  writeContexts(configHome, change(readContexts(configHome)));
}

/** A warning if other users can read the file. Windows has no such modes. null: no warning */
export function permissionWarning(configHome: string): string | null {
  if (process.platform === 'win32') return null;
  const path = contextsPath(configHome);
  const { mode } = statSync(path, { throwIfNoEntry: false }) ?? { mode: 0 };
  return (mode & 0o077) === 0
    ? null
    : `other users may access ${path}, which contains API keys or tokens; next: chmod 600 ${quoted(path)}`;
}

/** Adds or replaces a context, and makes it the current one. */
export function withContext({ contexts }: Contexts, name: string, added: StoredContext): Contexts {
  return { current: name, contexts: { ...contexts, [name]: added } };
}

/** Removes a context. */
export function withoutContext({ current, contexts }: Contexts, name: string): Contexts {
  const { [name]: _, ...left } = contexts;
  return { current: current === name ? null : current, contexts: left };
}

/**
 * The context with this name.
 * @throws UsageError when it does not exist
 */
export function contextOf({ contexts }: Contexts, name: string): StoredContext {
  const found = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (found !== undefined) return found;
  const known = Object.keys(contexts);
  const advice = known.length === 0 ? 'berth login creates one' : `use one of ${known.join(', ')}`;
  throw new UsageError(`there is no context "${name}": ${advice}`);
}
