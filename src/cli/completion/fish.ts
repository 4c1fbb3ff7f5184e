import { CONTEXTS, type CompletionNode, type CompletionOption } from './tree.ts';

/** Completion for fish. */

const quote = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

/** Fish runs the command when it completes. */
const OFFERED_CONTEXTS = `(${CONTEXTS})`;

function optionLine(path: string, { names, description, takes, values }: CompletionOption): string {
  const flags = names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  const value = {
    nothing: '',
    words: ` -x -a ${quote(values.join(' '))}`,
    file: ' -r -F',
    context: ` -x -a ${quote(OFFERED_CONTEXTS)}`,
    anything: ' -x',
  }[takes];
  return `complete -c berth -n ${quote(`__berth_at ${quote(path)}`)} ${flags.join(' ')}${value} -d ${quote(description)}`;
}

function lines({ path, subcommands, options, values, takesContext, takesFiles }: CompletionNode): string[] {
  const condition = quote(`__berth_at ${quote(path)}`);
  return [
    ...subcommands.map(
      ({ name, summary }) => `complete -c berth -n ${condition} -a ${quote(name)} -d ${quote(summary)}`,
    ),
    ...[...values, ...(takesContext ? [OFFERED_CONTEXTS] : [])].map(
      (value) => `complete -c berth -n ${condition} -a ${quote(value)}`,
    ),
    ...(takesFiles ? [`complete -c berth -n ${condition} -F`] : []),
    ...options.map((option) => optionLine(path, option)),
  ];
}

export function fishScript(nodes: readonly CompletionNode[]): string {
  const paths = nodes.filter(({ path }) => path !== '').map(({ path }) => quote(path));
  return `# fish completion of berth
function __berth_at --description 'Whether the words so far call this command'
    set -l at ''
    for word in (commandline -opc)[2..-1]
        set -l next (string trim "$at $word")
        if contains -- $next ${paths.join(' ')}
            set at $next
        end
    end
    test "$at" = "$argv[1]"
end
complete -c berth -f
${nodes.flatMap(lines).join('\n')}`;
}
