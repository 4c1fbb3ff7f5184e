import type { Argument, Command, Option } from 'commander';

/** The tree of commands as completion scripts need it. */

export interface CompletionOption {
  /** All spellings, such as `-o` and `--output`. */
  readonly names: readonly string[];
  readonly description: string;
  /** What follows the option. `words`: one of `values`. `context`: the name of a stored context. */
  readonly takes: 'nothing' | 'words' | 'file' | 'context' | 'anything';
  readonly values: readonly string[];
}

export interface CompletionNode {
  /** Words that call the command, without `berth`. */
  readonly path: string;
  readonly subcommands: readonly { readonly name: string; readonly summary: string }[];
  readonly options: readonly CompletionOption[];
  /** Possible values of the first argument. */
  readonly values: readonly string[];
  /** The first argument is the name of a stored context. */
  readonly takesContext: boolean;
  /** An argument is a file or a folder. */
  readonly takesFiles: boolean;
}

/** The command that prints the names of the stored contexts, without errors. */
export const CONTEXTS = 'berth context list -o name 2>/dev/null';

const isFile = (placeholder: string) => ['file', 'folder', 'dir', 'path'].includes(placeholder);

/** Also the name of a new context, because `berth login` can replace a context. */
const isContext = (placeholder: string) => placeholder === 'context';

function takes({ required, optional, argChoices, flags }: Option): CompletionOption['takes'] {
  if (!required && !optional) return 'nothing';
  if (argChoices !== undefined) return 'words';
  const [, placeholder = ''] = /<([^>]+)>/.exec(flags) ?? [];
  if (isContext(placeholder)) return 'context';
  return isFile(placeholder) ? 'file' : 'anything';
}

function optionOf(option: Option): CompletionOption {
  const { short, long, description, argChoices } = option;
  const names = [short, long].filter((name) => name != null);
  return { names, description: firstSentence(description), takes: takes(option), values: argChoices ?? [] };
}

const firstSentence = (text: string) => text.split(/[.;] |\n/, 1)[0] ?? text;

/** All commands, the parents first. */
export function completionNodes(command: Command, path: readonly string[] = []): CompletionNode[] {
  const help = command.createHelp();
  const children = help.visibleCommands(command);
  const first: Argument | undefined = command.registeredArguments[0];
  const node: CompletionNode = {
    path: path.join(' '),
    subcommands: children.map((child) => ({
      name: child.name(),
      summary: firstSentence(child.summary() || child.description()),
    })),
    options: help.visibleOptions(command).map(optionOf),
    values: first?.argChoices ?? [],
    takesContext: first !== undefined && isContext(first.name()),
    takesFiles: command.registeredArguments.some((argument) => isFile(argument.name())),
  };
  // Without `help`, which commander adds.
  const real = command.commands.filter((child) => children.includes(child));
  return [node, ...real.flatMap((child) => completionNodes(child, [...path, child.name()]))];
}
