import type { Deployment } from '../api.gen.ts';
import { cell } from '../table.ts';

/** Lines of `berth deployments get` about optional settings. Settings that are not set have no line. */

export type Line = readonly [title: string, text: string];

/** The run settings of the latest revision. */
export function runLines({
  port,
  commands = {},
  env = [],
  release_command: release,
}: Deployment['source_revision_config']): Line[] {
  const words = Object.entries(commands).map(
    ([component, { command = [], args = [] }]) => `${component}: ${[...command, ...args].join(' ')}`,
  );
  const variables = env.map(({ name, value }) => `${name}=${value}`);
  return [
    ...(port === undefined ? [] : [['Port', String(port)] as const]),
    ...(words.length === 0 ? [] : [['Commands', cell(words.join('; '))] as const]),
    ...(release === undefined ? [] : [['Release command', cell(release.join(' '))] as const]),
    ...(variables.length === 0 ? [] : [['Env', cell(variables.join(', '))] as const]),
  ];
}

type Config = Deployment['source_config'];
type Components<Setting> = Readonly<Record<string, Setting>>;
type Check = NonNullable<NonNullable<Config['health_checks']>['api']>;
type Placement = NonNullable<NonNullable<Config['placement']>['api']>;
type Gpu = NonNullable<NonNullable<Config['gpu']>['api']>;

/** One line for a setting with one value per component. */
function perComponent<Setting>(
  title: string,
  given: object | undefined,
  text: (setting: Setting) => string,
): Line[] {
  const parts = Object.entries((given ?? {}) as Components<Setting>).map(
    ([component, setting]) => `${component}: ${text(setting)}`,
  );
  return parts.length === 0 ? [] : [[title, cell(parts.join('; '))]];
}

function checkText({ type, path, port, command = [], ...times }: Check): string {
  const seconds = Object.entries(times).map(([name, value]) => `${name} ${value}`);
  const target = [type, path, port === undefined ? undefined : `port ${port}`, ...command];
  return [target.filter((part) => part !== undefined).join(' '), ...seconds].join(', ');
}

type Toleration = NonNullable<Placement['tolerations']>[number];

/** A taint as kubectl writes it: `key=value:effect`. */
const taintText = ({ key = '*', value, effect }: Toleration) =>
  [key, value === undefined ? '' : `=${value}`, effect === undefined ? '' : `:${effect}`].join('');

function placementText({ node_selector: labels = {}, tolerations = [], affinity }: Placement): string {
  const nodes = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  const parts = [
    ...(nodes.length === 0 ? [] : [`nodes with ${nodes.join(' ')}`]),
    ...(tolerations.length === 0 ? [] : [`tolerates ${tolerations.map(taintText).join(' ')}`]),
    ...(affinity === undefined ? [] : ['affinity']),
  ];
  return parts.length === 0 ? 'any node' : parts.join(', ');
}

/** The pod settings. */
export function podSettingLines({
  security_profile: profile,
  health_checks,
  placement,
  gpu,
}: Config): Line[] {
  return [
    ...(profile === undefined ? [] : [['Security profile', profile] as const]),
    ...perComponent<Check>('Health checks', health_checks, checkText),
    ...perComponent<Placement>('Placement', placement, placementText),
    ...perComponent<Gpu>('GPUs', gpu, ({ resource, count }) => `${count} ${resource}`),
  ];
}
