import type { Command } from 'commander';
import { valueOption } from '../../command/command.ts';
import type { Host } from '../../command/host.ts';
import { UsageError } from '../../command/usage-error.ts';
import { apiCommand, calling } from '../call.ts';
import type { Answer, InputOf } from '../client.ts';
import { given } from '../given.ts';
import {
  deleteCommand,
  findOne,
  getCommand,
  type Kind,
  listCommand,
  oneOf,
  showOne,
  words,
} from './resource.ts';

/** `berth listeners …`. */

type Listener = Answer<'get', '/v2/listeners'>['resources'][number];
// openapi-fetch omits members whose only type is null from request bodies.
type Change = InputOf<'patch', '/v2/listeners/{listener_id}'>;

const LISTENER: Kind<Listener> = {
  noun: 'listener',
  listed: 'listeners list',
  list: (client, query) => client.GET('/v2/listeners', { params: { query } }),
  idOf: ({ id }) => id,
  nameOf: ({ compute_id: name }) => name,
  columns: {
    NAME: (each) => each.compute_id,
    STATUS: (each) => each.status,
    NAMESPACES: (each) => each.compute_config.k8s_namespaces.join(','),
    VERSION: (each) => each.version,
    KUBERNETES: (each) => each.cluster_version,
    SEEN: (each) => each.last_seen_at,
    ID: (each) => each.id,
  },
};

const namespacesOption = () =>
  valueOption('--namespaces <a,b>', 'namespaces of the cluster that the listener may use', words);

interface Options {
  readonly namespaces?: string[];
}

const configOf = ({ namespaces }: Options) =>
  namespaces === undefined ? undefined : { k8s_namespaces: namespaces };

const create = (host: Host) =>
  apiCommand('create', 'create a listener for a cluster')
    .argument('<name>', 'name of the cluster')
    .addOption(namespacesOption())
    .action(
      calling(host, async (context, name: string, options: Options) => {
        const body = { compute_id: name, ...given({ compute_config: configOf(options) }) };
        return showOne(context, LISTENER, await context.client.POST('/v2/listeners', { body }));
      }),
    );

const update = (host: Host) =>
  apiCommand('update', 'rename a listener, set its namespaces, or let it move to another cluster')
    .argument(...oneOf(LISTENER))
    .addOption(valueOption('--name <name>', 'new name'))
    .addOption(namespacesOption())
    .option('--forget-cluster', 'accept the next cluster that connects with the key of this listener', false)
    .action(
      calling(
        host,
        async (context, word: string, options: Options & { name?: string; forgetCluster: boolean }) => {
          const body = given({
            compute_id: options.name,
            compute_config: configOf(options),
            cluster_id: options.forgetCluster ? null : undefined,
          }) as unknown as Change;
          if (Object.keys(body).length === 0)
            throw new UsageError('set --name, --namespaces or --forget-cluster');
          const { id } = await findOne(context.client, LISTENER, word);
          const params = { path: { listener_id: id } };
          return showOne(
            context,
            LISTENER,
            await context.client.PATCH('/v2/listeners/{listener_id}', { params, body }),
          );
        },
      ),
    );

export function buildListeners(made: Command, host: Host): void {
  made
    .addCommand(listCommand(host, LISTENER))
    .addCommand(getCommand(host, LISTENER))
    .addCommand(create(host))
    .addCommand(update(host))
    .addCommand(
      deleteCommand(host, LISTENER, (client, id) =>
        client.DELETE('/v2/listeners/{listener_id}', { params: { path: { listener_id: id } } }),
      ),
    );
}
