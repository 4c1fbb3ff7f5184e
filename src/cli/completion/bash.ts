import { CONTEXTS, type CompletionNode } from './tree.ts';

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

/** What a node offers: words, the stored contexts, and files. */
function offers(node: CompletionNode): string {
  const words = `words=${quote(candidates(node))}`;
  const more = [
    ...(node.takesContext ? ['_berth_contexts'] : []),
    ...(node.takesFiles ? ['_berth_files'] : []),
  ];
  return [words, ...more].join('; ');
}

const VALUES = {
  words: (values: readonly string[]) => `words=${quote(values.join(' '))}`,
  file: () => '_berth_files; return',
  context: () => '_berth_contexts; return',
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
# Files and folders. With the option filenames, bash adds the slash of a folder, and quotes spaces. Bash 3.2 has no compopt.
_berth_files() {
  local name
  compopt -o filenames 2>/dev/null
  while IFS= read -r name; do COMPREPLY+=("$name"); done < <(compgen -f -- "$cur")
}
_berth_contexts() {
  local name
  while IFS= read -r name; do
    case "$name" in "$cur"*) COMPREPLY+=("$name") ;; esac
  done < <(${CONTEXTS})
}
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
  case "$at $prev" in
${optionValues(nodes)}
  *)
    case "$at" in
${cases(nodes.map((node) => [node.path, offers(node)]))}
    esac ;;
  esac
  COMPREPLY+=($(compgen -W "$words" -- "$cur"))
}
complete -F _berth berth`;
}
