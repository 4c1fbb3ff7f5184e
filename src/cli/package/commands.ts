import { CLIENT_COMMANDS } from '../client/commands.ts';
import { describe } from '../command/command.ts';
import type { Build, CommandRow, CommandTree } from '../command/row.ts';
import { UsageError } from '../command/usage-error.ts';
import { OTHER_COMMANDS } from '../completion/commands.ts';
import { SERVER_COMMANDS, type ServerCommandName } from '../server-commands.ts';
import { SERVER_PLACES } from './server-places.ts';

/** The commands of the package berth-cli. The commands of the server only say where they run. */

const elsewhere =
  (name: ServerCommandName): Build =>
  (made) => {
    const { where, commandLine } = SERVER_PLACES[name];
    describe(
      made,
      `This command is not in the package berth-cli, because it needs the server. It ${where}:

  ${commandLine.replace(' --env', ' \\\n    --env')}`,
    )
      .allowUnknownOption()
      .allowExcessArguments()
      .action(() => {
        throw new UsageError(`berth ${name} is not in the package berth-cli: it ${where}: ${commandLine}`);
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
