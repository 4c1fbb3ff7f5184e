/** Changes of port, commands, env and references to Secrets. */
import { COMPONENTS, type Component } from '../../../src/domain/resource-spec/components.ts';
import type {
  Command,
  RunSettings,
  SecretReference,
  Variable,
} from '../../../src/domain/run-settings/run-settings.ts';
import { fromSecretReferences } from '../../../src/domain/run-settings/secret-reference-schema.ts';
import { REFERENCED_SECRET } from '../heartbeats.ts';
import type { Random } from './random.ts';
import type { PatchOfWalk } from './record.ts';

const PORTS: readonly (number | null)[] = [null, 80, 3000, 8000, 65_535];

const COMMANDS: readonly (Command | null)[] = [
  null,
  { command: ['/bin/serve'] },
  { args: ['--listen', ':$(PORT)'] },
  { command: ['/bin/sh', '-c'], args: ['exec "$0" $$(date)\n', 'ü'] },
];

/** Some of these names are also names of secrets of a walk. The API rejects the second of both. */
const VARIABLES: readonly Variable[] = [
  { name: 'LOG_LEVEL', value: 'debug' },
  { name: 'LOG_LEVEL', value: '' },
  { name: 'DATABASE_URL', value: '$(DATABASE_URI)?pool=$(DATABASE_POOL_SIZE)' },
  { name: 'GREETING', value: 'a $(MISSING) b $$ c' },
  { name: 'OTEL_RESOURCE_ATTRIBUTES', value: 'team=walk' },
  { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://otel.example:4318' },
  { name: 'DATABASE_URI_CUSTOM', value: 'postgres://db.example:5432/app' },
  { name: 'CACHE_URI_CUSTOM', value: 'redis://cache.example:6379' },
];

/** The Secrets of other software that a walk refers to. */
export const EXTERNAL_SECRETS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  [`${REFERENCED_SECRET}payments`]: { 'api-key': 'one', 'other.key': 'two' },
  [`${REFERENCED_SECRET}services`]: { database: 'postgres://u:p@db.example:5432/app' },
};

const [PAYMENTS, SERVICES] = Object.keys(EXTERNAL_SECRETS) as [string, string];

/** Some of these names are also names of secrets and variables of a walk. The API rejects the second of both. */
const REFERENCES: readonly SecretReference[] = [
  { name: 'STRIPE_KEY', secretName: PAYMENTS, secretKey: 'api-key' },
  { name: 'STRIPE_KEY', secretName: PAYMENTS, secretKey: 'other.key' },
  { name: 'TOKEN', secretName: PAYMENTS, secretKey: 'api-key' },
  { name: 'LOG_LEVEL', secretName: PAYMENTS, secretKey: 'api-key' },
  { name: 'DATABASE_URI_CUSTOM', secretName: SERVICES, secretKey: 'database' },
];

interface SettingsMove {
  readonly what: string;
  readonly change: Pick<PatchOfWalk, 'source_revision_config' | 'secret_references'>;
}

const ofRevision = (
  what: string,
  config: NonNullable<PatchOfWalk['source_revision_config']>,
): SettingsMove => ({ what, change: { source_revision_config: config } });

function portMove(random: Random): SettingsMove {
  const port = random.pick(PORTS);
  return ofRevision(`port = ${port}`, { port });
}

function commandMove(random: Random): SettingsMove {
  if (random.chance(0.1)) return ofRevision('commands cleared', { commands: null });
  const component: Component = random.pick(COMPONENTS);
  const command = random.pick(COMMANDS);
  const what = `command of ${component} ${command === null ? 'cleared' : 'set'}`;
  return ofRevision(what, { commands: { [component]: command } });
}

function variableMove({ env = [] }: RunSettings, random: Random): SettingsMove {
  if (env.length > 1 && random.chance(0.15))
    return ofRevision('variables in another order', { env: [...env.slice(1), ...env.slice(0, 1)] });
  const variable = random.pick(VARIABLES);
  const rest = env.filter(({ name }) => name !== variable.name);
  const isRemoved = rest.length < env.length && random.chance(0.6);
  const next = isRemoved ? rest : [...rest, variable];
  return ofRevision(`variable ${variable.name} ${isRemoved ? 'removed' : 'set'}`, { env: next });
}

function referenceMove({ secretReferences = [] }: RunSettings, random: Random): SettingsMove {
  const reference = random.pick(REFERENCES);
  const rest = secretReferences.filter(({ name }) => name !== reference.name);
  const isRemoved = rest.length < secretReferences.length && random.chance(0.6);
  const next = isRemoved ? rest : [...rest, reference];
  return {
    what: `reference ${reference.name} ${isRemoved ? 'removed' : 'set'}`,
    change: { secret_references: fromSecretReferences(next) },
  };
}

/** A change of one setting. */
export function settingsMove(settings: RunSettings, random: Random): SettingsMove {
  const kind = random.pick(['port', 'command', 'command', 'variable', 'variable', 'reference'] as const);
  if (kind === 'port') return portMove(random);
  if (kind === 'reference') return referenceMove(settings, random);
  return kind === 'command' ? commandMove(random) : variableMove(settings, random);
}

/** The fields of a PATCH that result in these settings, whatever is stored. */
export const wholeSettings = ({ port, commands, env }: RunSettings) => ({
  port: port ?? null,
  commands: Object.fromEntries(COMPONENTS.map((component) => [component, commands?.[component] ?? null])),
  env: env ?? null,
});
