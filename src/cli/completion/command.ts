import { Argument, type Command } from 'commander';
import { describe } from '../command/command.ts';
import type { Host } from '../command/host.ts';

/** `berth completion` and `berth version`. */

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

const DETAILS = `To enable completion in the current shell:

  bash  source <(berth completion bash)
  zsh   source <(berth completion zsh)
  fish  berth completion fish | source

To enable completion in every new shell, add the line to ~/.bashrc or ~/.zshrc (after compinit), or write the script of fish
to ~/.config/fish/completions/berth.fish.`;

export function buildCompletion(made: Command, host: Host): void {
  describe(made, DETAILS)
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action(async (shell: Shell) => {
      const { completionScript } = await import('./scripts.ts');
      console.log(completionScript(shell, await host.allCommands()));
    });
}

export function buildVersion(made: Command, host: Host): void {
  made.action(() => console.log(host.version));
}
