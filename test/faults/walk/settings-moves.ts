/** Changes of port, commands and env. */
import { COMPONENTS, type Component } from '../../../src/domain/resource-spec/components.ts';
import type { Command, RunSettings, Variable } from '../../../src/domain/run-settings/run-settings.ts';
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

interface SettingsMove {
  readonly what: string;
  readonly change: NonNullable<PatchOfWalk['source_revision_config']>;
}

function portMove(random: Random): SettingsMove {
  const port = random.pick(PORTS);
  return { what: `port = ${port}`, change: { port } };
}

function commandMove(random: Random): SettingsMove {
  if (random.chance(0.1)) return { what: 'commands cleared', change: { commands: null } };
  const component: Component = random.pick(COMPONENTS);
  const command = random.pick(COMMANDS);
  const what = `command of ${component} ${command === null ? 'cleared' : 'set'}`;
  return { what, change: { commands: { [component]: command } } };
}

function variableMove({ env = [] }: RunSettings, random: Random): SettingsMove {
  if (env.length > 1 && random.chance(0.15))
    return { what: 'variables in another order', change: { env: [...env.slice(1), ...env.slice(0, 1)] } };
  const variable = random.pick(VARIABLES);
  const rest = env.filter(({ name }) => name !== variable.name);
  const isRemoved = rest.length < env.length && random.chance(0.6);
  const next = isRemoved ? rest : [...rest, variable];
  return { what: `variable ${variable.name} ${isRemoved ? 'removed' : 'set'}`, change: { env: next } };
}

/** A change of one setting. */
export function settingsMove(settings: RunSettings, random: Random): SettingsMove {
  const kind = random.pick(['port', 'command', 'command', 'variable', 'variable'] as const);
  if (kind === 'port') return portMove(random);
  return kind === 'command' ? commandMove(random) : variableMove(settings, random);
}

/** The fields of a PATCH that result in these settings, whatever is stored. */
export const wholeSettings = ({ port, commands, env }: RunSettings) => ({
  port: port ?? null,
  commands: Object.fromEntries(COMPONENTS.map((component) => [component, commands?.[component] ?? null])),
  env: env ?? null,
});
