import type { EnvVar } from './pod-types.ts';

/** Translates command, arguments and variables of a container for a process of this machine. Pure. */

/** Path in the container → path on this machine. */
export type RealPaths = ReadonlyMap<string, string>;

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/**
 * Replaces mount paths with real folders: at the start of a text, or after `=`, `:` or `,`, and only whole path elements.
 * Paths elsewhere in the text stay.
 */
export function withRealPaths(text: string, real: RealPaths): string {
  const paths = [...real.keys()].toSorted((a, b) => b.length - a.length);
  if (paths.length === 0) return text;
  const pattern = new RegExp(`(^|[=:,])(${paths.map(escaped).join('|')})(?=$|[/:,])`, 'g');
  return text.replace(pattern, (_all, before: string, path: string) => `${before}${real.get(path)}`);
}

/** Flags `--flag=value` that take a path. Other arguments may contain text of tenants, which is not changed. */
const PATH_FLAGS: ReadonlySet<string> = new Set([
  '--workspace',
  '--credentials',
  '--local',
  '--metadata-file',
]);

/** Replaces mount paths in an argument, if its flag takes a path or it has no flag. */
function translateArgument(word: string, real: RealPaths): string {
  const [flag] = /^--[\w-]+(?==)/.exec(word) ?? [];
  return flag === undefined || PATH_FLAGS.has(flag) ? withRealPaths(word, real) : word;
}

/** Expands `$(NAME)` like Kubernetes: unknown names stay, and `$$` is a dollar sign. */
export function expand(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replace(/\$(?:\$|\(([^)]*)\))/g, (all, name: string | undefined) => {
    if (name === undefined) return '$';
    return Object.hasOwn(variables, name) ? (variables[name] ?? '') : all;
  });
}

/** The variables of a container, in their order. A value can refer to earlier variables. */
export function environmentOf(env: readonly EnvVar[], real: RealPaths): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const { name, value = '' } of env) variables[name] = withRealPaths(expand(value, variables), real);
  return variables;
}

/** Program and arguments. A container without a command runs `berth`. */
export function commandOf(
  container: { readonly command?: readonly string[]; readonly args?: readonly string[] },
  berth: readonly string[],
  variables: Readonly<Record<string, string>>,
  real: RealPaths,
): string[] {
  const words = [...(container.command ?? []), ...(container.args ?? [])];
  const translated = words.map((word) => translateArgument(expand(word, variables), real));
  return container.command === undefined ? [...berth, ...translated] : translated;
}
