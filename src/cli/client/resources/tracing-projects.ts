import type { Command } from 'commander';
import { describe } from '../../command/command.ts';
import type { Host } from '../../command/host.ts';
import type { Answer } from '../client.ts';
import { deleteCommand, getCommand, type Kind, listCommand } from './resource.ts';

/** `berth tracing-projects …`. */

type TracingProject = Answer<'get', '/v2/tracing-projects'>['resources'][number];

const PROJECT: Kind<TracingProject> = {
  noun: 'tracing project',
  listed: 'tracing-projects list',
  list: (client, query) => client.GET('/v2/tracing-projects', { params: { query } }),
  idOf: ({ id }) => id,
  nameOf: ({ name }) => name,
  columns: {
    NAME: (each) => each.name,
    CREATED: (each) => each.created_at,
    SYNCED: (each) => each.backend_synced_at,
    ID: (each) => each.id,
  },
};

export function buildTracingProjects(made: Command, host: Host): void {
  describe(made, `A deployment creates its tracing project.`)
    .addCommand(listCommand(host, PROJECT))
    .addCommand(getCommand(host, PROJECT))
    .addCommand(
      deleteCommand(host, PROJECT, (client, id) =>
        client.DELETE('/v2/tracing-projects/{tracing_project_id}', {
          params: { path: { tracing_project_id: id } },
        }),
      ),
    );
}
