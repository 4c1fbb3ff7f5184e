import { CLIENT_COMMANDS } from '../client/commands.ts';
import { describe } from '../command/command.ts';
import type { Build, CommandRow, CommandTree } from '../command/row.ts';
import { UsageError } from '../command/usage-error.ts';
import { OTHER_COMMANDS } from '../completion/commands.ts';
import { SERVER_COMMANDS } from '../server-commands.ts';

/** The commands of the package berth-cli. The commands of the server only say where they are. */

const elsewhere =
  (name: string): Build =>
  (made) => {
    describe(
      made,
      `This command needs the server, so it is in the image of Berth and not in the package berth-cli:

  docker run --rm IMAGE ${name}`,
    )
      .allowUnknownOption()
      .allowExcessArguments()
      .action(() => {
        throw new UsageError(
          `berth ${name} is not in the package berth-cli: run it with the image of Berth (docker run --rm IMAGE ${name} …)`,
        );
      });
  };

const hidden = SERVER_COMMANDS.map(
  (row): CommandRow => ({ ...row, isHidden: true, load: async () => elsewhere(row.name) }),
);

export const PACKAGED: CommandTree = {
  rows: [...CLIENT_COMMANDS, ...hidden, ...OTHER_COMMANDS],
  details: `Commands need a context (berth login), or BERTH_URL and BERTH_API_KEY. The roles of the server and the commands for
administrators, such as berth api and berth keys, are in the image of Berth.`,
};
