import type { Command } from 'commander';
import { describe, valueOption, wholeNumber } from '../../command/command.ts';
import type { Host } from '../../command/host.ts';
import { UsageError } from '../../command/usage-error.ts';
import { apiCommand, calling } from '../call.ts';
import type { Answer } from '../client.ts';
import { given } from '../given.ts';
import { deleteCommand, findOne, getCommand, type Kind, listCommand, oneOf, showOne } from './resource.ts';

/** `berth tenants …`, for keys with the scope admin. */

type Tenant = Answer<'get', '/v2/tenants'>['resources'][number];
type Quotas = Tenant['quotas'];

const limit = (value: number | null) => value ?? 'none';

const TENANT: Kind<Tenant> = {
  noun: 'tenant',
  listed: 'tenants list',
  list: (client, query) => client.GET('/v2/tenants', { params: { query } }),
  idOf: ({ id }) => id,
  nameOf: ({ name }) => name,
  columns: {
    NAME: (each) => each.name,
    DEPLOYMENTS: (each) => limit(each.quotas_in_force.deployments),
    CPU: (each) => limit(each.quotas_in_force.cpu),
    MEMORY_MB: (each) => limit(each.quotas_in_force.memory_mb),
    STORAGE_GI: (each) => limit(each.quotas_in_force.storage_gi),
    CREATED: (each) => each.created_at,
    ID: (each) => each.id,
  },
};

/** Commander replaces null by an empty text, so "none" stays as it is. */
const quota = (name: string, parse: (name: string) => (text: string) => number) => (text: string) =>
  text === 'none' ? text : parse(`${name} (or none)`)(text);

const whole = (name: string) => wholeNumber(name, 0);

function fractional(name: string): (text: string) => number {
  return (text) => {
    if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
    throw new UsageError(`${name} must be a number of at least 0, not "${text}"`);
  };
}

/** The options for quotas. */
function takesQuotas(made: Command): Command {
  const option = (flags: string, description: string, parse: typeof whole) =>
    valueOption(flags, `${description}, or none`, quota(flags.split(' ')[0] ?? '', parse));
  return made
    .addOption(option('--deployments <n>', 'maximum number of deployments', whole))
    .addOption(option('--cpu <cores>', 'maximum of processor cores, such as 2.5', fractional))
    .addOption(option('--memory-mb <mib>', 'maximum of memory in MiB', fractional))
    .addOption(option('--storage-gi <gib>', 'maximum of storage in GiB', fractional))
    .addOption(option('--gpus <n>', 'maximum number of GPUs', whole))
    .addOption(option('--domains <n>', 'maximum number of additional hosts', whole))
    .addOption(option('--schedules <n>', 'maximum number of schedules', whole))
    .addOption(option('--uploads-mb <mib>', 'maximum size of all uploaded folders in MiB', whole));
}

type Quota = number | 'none';

interface QuotaOptions {
  readonly deployments?: Quota;
  readonly cpu?: Quota;
  readonly memoryMb?: Quota;
  readonly storageGi?: Quota;
  readonly gpus?: Quota;
  readonly domains?: Quota;
  readonly schedules?: Quota;
  readonly uploadsMb?: Quota;
}

const limitOf = (quota: Quota | undefined) => (quota === 'none' ? null : quota);

const quotasOf = ({
  deployments,
  cpu,
  memoryMb,
  storageGi,
  gpus,
  domains,
  schedules,
  uploadsMb,
}: QuotaOptions): Quotas =>
  given({
    deployments: limitOf(deployments),
    cpu: limitOf(cpu),
    memory_mb: limitOf(memoryMb),
    storage_gi: limitOf(storageGi),
    gpus: limitOf(gpus),
    domains: limitOf(domains),
    schedules: limitOf(schedules),
    uploads_mb: limitOf(uploadsMb),
  });

const create = (host: Host) =>
  takesQuotas(apiCommand('create', 'create a tenant').argument('<name>', 'name of the tenant')).action(
    calling(host, async (context, name: string, options: QuotaOptions) => {
      const body = { name, quotas: quotasOf(options) };
      return showOne(context, TENANT, await context.client.POST('/v2/tenants', { body }));
    }),
  );

const update = (host: Host) =>
  takesQuotas(
    apiCommand('update', 'rename a tenant, or set quotas', {
      details: 'Quotas that are not given stay as they are. A quota below the usage stops no deployment.',
    })
      .argument(...oneOf(TENANT))
      .addOption(valueOption('--name <name>', 'new name')),
  ).action(
    calling(host, async (context, word: string, options: QuotaOptions & { name?: string }) => {
      const quotas = quotasOf(options);
      const hasQuotas = Object.keys(quotas).length > 0;
      if (options.name === undefined && !hasQuotas)
        throw new UsageError('set --name or a quota, such as --deployments 10');
      const tenant = await findOne(context.client, TENANT, word);
      const body = given({
        name: options.name,
        quotas: hasQuotas ? { ...tenant.quotas, ...quotas } : undefined,
      });
      const params = { path: { tenant_id: tenant.id } };
      return showOne(
        context,
        TENANT,
        await context.client.PATCH('/v2/tenants/{tenant_id}', { params, body }),
      );
    }),
  );

export function buildTenants(made: Command, host: Host): void {
  describe(made, `Needs a key with the scope admin.`)
    .addCommand(listCommand(host, TENANT))
    .addCommand(getCommand(host, TENANT))
    .addCommand(create(host))
    .addCommand(update(host))
    .addCommand(
      deleteCommand(host, TENANT, (client, id) =>
        client.DELETE('/v2/tenants/{tenant_id}', { params: { path: { tenant_id: id } } }),
      ),
    );
}
