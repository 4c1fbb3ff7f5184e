import type { CommandRow } from '../command/row.ts';

/** The commands about the command line itself. */

const completion = () => import('./command.ts');

export const OTHER_COMMANDS: readonly CommandRow[] = [
  {
    group: 'Other',
    name: 'completion',
    summary: 'print the completion script of a shell',
    load: async () => (await completion()).buildCompletion,
  },
  {
    group: 'Other',
    name: 'version',
    summary: 'print the version',
    load: async () => (await completion()).buildVersion,
  },
];
