import type { Command } from 'commander';
import { describe } from '../../command/command.ts';
import type { Host } from '../../command/host.ts';
import { DEPLOYMENT } from '../arguments.ts';
import { apiCommand, calling } from '../call.ts';
import { EXIT_HELP } from '../exit-codes.ts';
import { takesWait, type WaitOptions } from '../wait.ts';
import type { DisableOptions } from './services.ts';

/** `berth services …`. */

const services = () => import('./services.ts');

const SERVICES = ['<services...>', 'database, cache, or both'] as const;

const DISABLE = `The pods are replaced without DATABASE_URI or CACHE_URI, and then the service ends. A cache loses its content. The volume of a
database is kept until the deployment is deleted. With --remove-volume it is deleted with all its data, after a question. This
also works for a database that is already switched off.

  berth services disable site database cache
  berth services disable shop database --remove-volume`;

const disable = (host: Host) =>
  takesWait(
    apiCommand('disable', 'switch off the database or the cache of a deployment', { details: DISABLE })
      .argument(...DEPLOYMENT)
      .argument(...SERVICES)
      .option('--remove-volume', 'delete the volume of the database, which cannot be undone', false)
      .option('--yes', 'delete the volume without a question', false),
  ).action(
    calling(host, async (context, name: string, names: string[], options: WaitOptions & DisableOptions) =>
      (await services()).disable(context, name, names, options),
    ),
  );

const enable = (host: Host) =>
  takesWait(
    apiCommand('enable', 'switch the database or the cache of a deployment on again', {
      details: 'A database starts with the volume that was kept. The pods wait for it.',
    })
      .argument(...DEPLOYMENT)
      .argument(...SERVICES),
  ).action(
    calling(host, async (context, name: string, names: string[], options: WaitOptions) =>
      (await services()).enable(context, name, names, options),
    ),
  );

export function buildServices(made: Command, host: Host): void {
  describe(made, EXIT_HELP)
    .addCommand(
      apiCommand('list', 'show whether Berth runs a database and a cache for a deployment')
        .argument(...DEPLOYMENT)
        .action(calling(host, async (context, name: string) => (await services()).list(context, name))),
    )
    .addCommand(disable(host))
    .addCommand(enable(host));
}
