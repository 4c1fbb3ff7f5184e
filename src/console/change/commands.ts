import type { Deployment } from '../api/types.ts';
import { stringifySearch } from '../app/search.ts';
import { type ApiRequest, commandLine } from '../commands/commands.ts';
import { isObject, type JsonObject } from '../form/json.ts';
import { withoutValues } from './masked.ts';
import { type DeleteOptions, deletionQuery, ifMatch } from './request-parts.ts';

/** The commands of actions. */

interface ActionCommand {
  readonly request: ApiRequest;
  readonly berth?: string;
}

const pathOf = ({ id }: Deployment) => `/v2/deployments/${id}`;

/** `berth scale`, which can change the pods of api only; null: the change is another one. */
function scaleCommand(name: string, patch: JsonObject): string | null {
  const config = patch['source_config'];
  const spec = isObject(config) && Object.keys(config).length === 1 ? config['resource_spec'] : null;
  if (!isObject(spec) || Object.keys(patch).length !== 1) return null;
  const { min_scale: min, max_scale: max, ...others } = spec;
  const isNumber = (value: unknown) => value === undefined || typeof value === 'number';
  if (Object.keys(others).length > 0 || !isNumber(min) || !isNumber(max)) return null;
  return commandLine(
    ...['berth', 'scale', name],
    ...(min === undefined ? [] : ['--min', String(min)]),
    ...(max === undefined ? [] : ['--max', String(max)]),
  );
}

/** The command of a change. It contains no value of a secret. */
export function changeCommand(deployment: Deployment, patch: JsonObject): ActionCommand {
  const { name, tenant_id: tenantId } = deployment;
  return {
    request: {
      method: 'PATCH',
      path: pathOf(deployment),
      tenantId,
      headers: ifMatch(deployment),
      body: withoutValues(patch),
    },
    berth:
      scaleCommand(name, patch) ??
      commandLine('berth', 'deployments', 'patch', name, '--file', 'change.yaml', '--wait'),
  };
}

export function deleteCommand(deployment: Deployment, options: DeleteOptions): ActionCommand {
  const { deletesTracingProject, keepsWorkloads, isForced } = options;
  return {
    request: {
      method: 'DELETE',
      path: `${pathOf(deployment)}${stringifySearch(deletionQuery(options))}`,
      tenantId: deployment.tenant_id,
    },
    berth: commandLine(
      ...['berth', 'deployments', 'delete', deployment.name],
      ...(deletesTracingProject ? ['--delete-tracing-project'] : []),
      ...(keepsWorkloads ? ['--keep-workloads'] : []),
      ...(isForced ? ['--force'] : []),
    ),
  };
}

export const restoreCommand = (deployment: Deployment): ActionCommand => ({
  request: {
    method: 'POST',
    path: `${pathOf(deployment)}/restore`,
    tenantId: deployment.tenant_id,
    body: {},
  },
  berth: commandLine('berth', 'restore', deployment.name),
});
