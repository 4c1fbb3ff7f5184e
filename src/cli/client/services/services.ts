import { UsageError } from '../../command/usage-error.ts';
import type { Deployment } from '../api.gen.ts';
import { type Context, noteEffects, show } from '../context.ts';
import type { End } from '../exit-codes.ts';
import { lookUpDeployment } from '../lookup.ts';
import { cell, table } from '../table.ts';
import { confirm } from '../terminal/confirm.ts';
import { settle, type WaitOptions, waitSeconds } from '../wait.ts';

/** `berth services …`: the database and the cache of a deployment. */

const DEPLOYMENT = '/v2/deployments/{deployment_id}';
const CONDITIONS = { database: 'DatabaseReady', cache: 'CacheReady' } as const;
export type Service = keyof typeof CONDITIONS;
const SERVICES = Object.keys(CONDITIONS) as Service[];

export interface DisableOptions {
  readonly removeVolume: boolean;
  readonly yes: boolean;
}

/** What is known about a service. */
function stateOf({ source_config: config, conditions }: Deployment, service: Service) {
  const { reason = null, message = null } = conditions.find(({ type }) => type === CONDITIONS[service]) ?? {};
  return { service, enabled: config[service]?.enabled ?? true, reason, message };
}

async function showServices(context: Context, deployment: Deployment): Promise<void> {
  const states = SERVICES.map((service) => stateOf(deployment, service));
  const rows = () =>
    states.map(({ service, enabled, reason, message }) => [
      service,
      enabled ? 'yes' : 'no',
      cell(reason),
      cell(message),
    ]);
  await show(context, states, {
    table: () => table(['SERVICE', 'ENABLED', 'REASON', 'MESSAGE'], rows()),
    names: () => SERVICES,
  });
}

export async function list(context: Context, name: string): Promise<undefined> {
  await showServices(context, await lookUpDeployment(context.client, name, true));
}

type Change = Pick<Deployment['source_config'], Service>;

/** @throws UsageError for another word */
function checked(names: readonly string[]): Service[] {
  return names.map((name) => {
    const service = SERVICES.find((each) => each === name);
    if (service === undefined) throw new UsageError(`${cell(name)} is not one of ${SERVICES.join(', ')}`);
    return service;
  });
}

const changeOf = (names: readonly Service[], value: object): Change =>
  Object.fromEntries(names.map((service) => [service, value]));

/** The call for the generation that was read, so that a question is about what then happens. */
const request = ({ id, generation }: Deployment, source_config: Change, dryRun: boolean) => ({
  params: {
    path: { deployment_id: id },
    query: { mask_secrets: true, ...(dryRun ? { dry_run: true } : {}) },
    header: { 'If-Match': `"${generation}"` },
  },
  body: { source_config },
});

async function change(
  context: Context,
  before: Deployment,
  source_config: Change,
  options: WaitOptions,
): Promise<End> {
  const seconds = waitSeconds(options);
  const made = await context.client.PATCH(DEPLOYMENT, request(before, source_config, false));
  if (made.generation === before.generation) context.note('nothing changed: the services are already so');
  noteEffects(context, made);
  await showServices(context, made as Deployment);
  return seconds === null ? 'reached' : settle(context, made as Deployment, seconds, made.latest_revision_id);
}

/** Asks before the volume is deleted, with the effects that the API reports. */
async function confirmRemoval(
  context: Context,
  before: Deployment,
  source_config: Change,
  yes: boolean,
): Promise<void> {
  const dry = await context.client.PATCH(DEPLOYMENT, request(before, source_config, true));
  noteEffects(context, dry);
  await confirm(`Delete the volume of the database of "${cell(before.name)}"?`, yes, 'nothing was changed');
}

/** Switches services off. @throws UsageError when a volume is to be deleted that no named service has */
export async function disable(
  context: Context,
  name: string,
  words: readonly string[],
  options: WaitOptions & DisableOptions,
): Promise<End> {
  const { removeVolume, yes } = options;
  const names = checked(words);
  if (removeVolume && !names.includes('database'))
    throw new UsageError('--remove-volume is about the database: name it as well');
  const before = await lookUpDeployment(context.client, name, true);
  const off = changeOf(names, { enabled: false });
  if (!removeVolume) return change(context, before, off, options);
  const whole = { ...off, database: { enabled: false, remove_volume: true } };
  await confirmRemoval(context, before, whole, yes);
  return change(context, before, whole, options);
}

/** Switches services on again. */
export async function enable(
  context: Context,
  name: string,
  words: readonly string[],
  options: WaitOptions,
): Promise<End> {
  const names = checked(words);
  const before = await lookUpDeployment(context.client, name, true);
  return change(context, before, changeOf(names, { enabled: true }), options);
}
