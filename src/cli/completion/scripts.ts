import type { Command } from 'commander';
import { bashScript } from './bash.ts';
import type { Shell } from './command.ts';
import { fishScript } from './fish.ts';
import { completionNodes } from './tree.ts';
import { zshScript } from './zsh.ts';

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

/** The completion script of a shell, from the tree of commands. */
export function completionScript(shell: Shell, program: Command): string {
  return SCRIPTS[shell](completionNodes(program));
}
