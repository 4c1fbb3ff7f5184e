import type { CompletionNode } from './tree.ts';

/** Completion for bash, also for the bash 3.2 of macOS. */

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** A line of a `case` for each distinct value, with all keys that have it. */
function cases(pairs: readonly (readonly [key: string, value: string])[]): string {
  const keys = new Map<string, string[]>();
  for (const [key, value] of pairs) keys.set(value, [...(keys.get(value) ?? []), quote(key)]);
  return [...keys].map(([value, found]) => `    ${found.join('|')}) ${value} ;;`).join('\n');
}

function steps(nodes: readonly CompletionNode[]): string {
  return nodes
    .filter(({ path }) => path !== '')
    .map(({ path }) => quote(path))
    .join('|');
}

function candidates({ subcommands, options, values }: CompletionNode): string {
  return [...subcommands.map(({ name }) => name), ...values, ...options.flatMap(({ names }) => names)].join(
    ' ',
  );
}

const VALUES = {
  words: (values: readonly string[]) => `words=${quote(values.join(' '))}`,
  file: () => 'COMPREPLY=($(compgen -f -- "$cur")); return',
  anything: () => 'return',
} as const;

function optionValues(nodes: readonly CompletionNode[]): string {
  const pairs = nodes.flatMap(({ path, options }) =>
    options.flatMap(({ names, takes, values }) =>
      takes === 'nothing' ? [] : names.map((name) => [`${path} ${name}`, VALUES[takes](values)] as const),
    ),
  );
  return cases(pairs);
}

export function bashScript(nodes: readonly CompletionNode[]): string {
  return `# bash completion of berth
_berth() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" at="" words="" i
  # Bash splits --output=json at the equals sign.
  if [ "$cur" = "=" ]; then cur=""; elif [ "$prev" = "=" ]; then prev="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${at:+$at }\${COMP_WORDS[i]}" in
    ${steps(nodes)}) at="\${at:+$at }\${COMP_WORDS[i]}" ;;
    esac
  done
  case "$at" in
${cases(nodes.map((node) => [node.path, `words=${quote(candidates(node))}`]))}
  esac
  case "$at $prev" in
${optionValues(nodes)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F _berth berth`;
}
