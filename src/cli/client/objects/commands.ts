import type { Command } from 'commander';
import { describe } from '../../command/command.ts';
import type { Host } from '../../command/host.ts';
import { FORMATS_WITHOUT_NAME } from '../../command/output.ts';
import { DEPLOYMENT } from '../arguments.ts';
import { calling, callsApi } from '../call.ts';

/** `berth objects`, `berth top`. */

const OBJECTS = `Without an object, the command prints all objects in the cluster, each below its owner. With an object, such as
Pod/shop-1a2b3c4d-api-5f6d8-x2x4k, it prints the object as YAML and its events. The values of the secrets of the deployment are masked,
and Secrets have only their names. The listener of the cluster reads the objects when the command runs.`;

const TOP = `Prints what each container uses, beside its requests and limits. Usage needs a metrics API in the cluster, such as that of
metrics-server.`;

export function buildObjects(made: Command, host: Host): void {
  describe(made, OBJECTS);
  callsApi(made, FORMATS_WITHOUT_NAME)
    .argument(...DEPLOYMENT)
    .argument('[object]', 'KIND/NAME of one object')
    .action(
      calling(host, async (context, name: string, object: string | undefined) => {
        const { listObjects, showObject } = await import('./objects.ts');
        return object === undefined ? listObjects(context, name) : showObject(context, name, object);
      }),
    );
}

export function buildTop(made: Command, host: Host): void {
  describe(made, TOP);
  callsApi(made, FORMATS_WITHOUT_NAME)
    .argument(...DEPLOYMENT)
    .action(calling(host, async (context, name: string) => (await import('./top.ts')).top(context, name)));
}
