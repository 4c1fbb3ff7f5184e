import type { EnvVar } from './pod-types.ts';

/** From what a container is told to what a process on this machine is told. Pure. */

/** Path in the container → path on this machine. */
export type Places = ReadonlyMap<string, string>;

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/**
 * Puts real folders in the place of mount paths: at the start of a text, or behind `=`, `:` or `,`, up to the end of a path
 * element. What stands elsewhere in a sentence stays.
 */
export function placed(text: string, places: Places): string {
  const paths = [...places.keys()].toSorted((a, b) => b.length - a.length);
  if (paths.length === 0) return text;
  const pattern = new RegExp(`(^|[=:,])(${paths.map(escaped).join('|')})(?=$|[/:,])`, 'g');
  return text.replace(pattern, (_all, before: string, path: string) => `${before}${places.get(path)}`);
}

/** Of arguments `--flag=value`. All others may hold text of tenants, in which nothing is replaced. */
const PLACED_FLAGS: ReadonlySet<string> = new Set([
  '--workspace',
  '--credentials',
  '--local',
  '--metadata-file',
]);

/** An argument with real folders in it, where it is one that Berth gives a place by. */
function placedArgument(word: string, places: Places): string {
  const [flag] = /^--[\w-]+(?==)/.exec(word) ?? [];
  return flag === undefined || PLACED_FLAGS.has(flag) ? placed(word, places) : word;
}

/** `$(NAME)` as Kubernetes expands it: unknown names stay, `$$` is a dollar sign. */
export function expanded(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replace(/\$(?:\$|\(([^)]*)\))/g, (all, name: string | undefined) => {
    if (name === undefined) return '$';
    return Object.hasOwn(variables, name) ? (variables[name] ?? '') : all;
  });
}

/** The variables of a container, in their order: each may name those before it. */
export function environmentOf(env: readonly EnvVar[], places: Places): Record<string, string> {
  const given: Record<string, string> = {};
  for (const { name, value = '' } of env) given[name] = placed(expanded(value, given), places);
  return given;
}

/** Program and arguments. `own` runs where the container leaves the command to its image. */
export function commandOf(
  container: { readonly command?: readonly string[]; readonly args?: readonly string[] },
  own: readonly string[],
  variables: Readonly<Record<string, string>>,
  places: Places,
): string[] {
  const words = [...(container.command ?? []), ...(container.args ?? [])];
  const told = words.map((word) => placedArgument(expanded(word, variables), places));
  return container.command === undefined ? [...own, ...told] : told;
}
