import { CONTEXTS, type CompletionNode, type CompletionOption } from './tree.ts';

/** Completion for zsh. */

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
/** A name with its description, as \`_describe\` reads it. */
const described = (name: string, text: string) => quote(`${name.replaceAll(':', '\\:')}:${text}`);

function candidates({ subcommands, options, values }: CompletionNode): string {
  return [
    ...subcommands.map(({ name, summary }) => described(name, summary)),
    ...values.map(quote),
    ...options.flatMap(({ names, description }) => names.map((name) => described(name, description))),
  ].join(' ');
}

/** Names, one per line. Without a line, nothing is added. */
const OFFER_CONTEXTS = `compadd -- \${(f)"$(${CONTEXTS})"}`;

function valueAction({ takes, values }: CompletionOption): string {
  if (takes === 'words') return `compadd -- ${values.map(quote).join(' ')}; return`;
  if (takes === 'context') return `${OFFER_CONTEXTS}; return`;
  return takes === 'file' ? '_files; return' : 'return';
}

/** What a node offers: words with descriptions, the stored contexts, and files. */
function offers(node: CompletionNode): string {
  const words = `found=(${candidates(node)})`;
  const more = [...(node.takesContext ? [OFFER_CONTEXTS] : []), ...(node.takesFiles ? ['_files'] : [])];
  return [words, ...more].join('; ');
}

function optionCases({ path, options }: CompletionNode): string[] {
  return options
    .filter(({ takes }) => takes !== 'nothing')
    .map((option) => {
      const keys = option.names.map((name) => quote(`${path} ${name}`)).join('|');
      return `    ${keys}) ${valueAction(option)} ;;`;
    });
}

export function zshScript(nodes: readonly CompletionNode[]): string {
  const paths = nodes.filter(({ path }) => path !== '').map(({ path }) => quote(path));
  return `#compdef berth
# zsh completion of berth
_berth() {
  local at="" next i
  local -a found
  for ((i = 2; i < CURRENT; i++)); do
    next="\${at:+$at }\${words[i]}"
    case "$next" in
    ${paths.join('|')}) at="$next" ;;
    esac
  done
  case "$at \${words[CURRENT-1]}" in
${nodes.flatMap(optionCases).join('\n')}
  esac
  case "$at" in
${nodes.map((node) => `    ${quote(node.path)}) ${offers(node)} ;;`).join('\n')}
  esac
  _describe 'berth' found
}
if [ "\${funcstack[1]}" = "_berth" ]; then _berth "$@"; else compdef _berth berth; fi`;
}
