/**
 * The Dockerfile as the release needs it: the reference of the base image, and the configuration that the last stage sets. So
 * an image of the release and an image that users build themselves have the same settings.
 */

/** The part of an image's configuration that a Dockerfile sets. `Healthcheck` is an extension of Docker. */
export interface RunConfig {
  readonly Env?: readonly string[];
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly WorkingDir?: string;
  readonly User?: string;
  readonly ExposedPorts?: Readonly<Record<string, object>>;
  readonly Labels?: Readonly<Record<string, string>>;
  readonly StopSignal?: string;
  readonly Healthcheck?: object;
}

/** An instruction, with its arguments as one line. */
export interface Instruction {
  readonly name: string;
  readonly rest: string;
}

/** The instructions of a Dockerfile. Comments and continued lines are resolved. */
export function instructionsOf(dockerfile: string): Instruction[] {
  const lines = dockerfile.split('\n').filter((line) => !/^\s*#/.test(line));
  const text = lines.join('\n').replace(/\\\n\s*/g, '');
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => {
      const [, name = '', rest = ''] = /^(\S+)\s*(.*)$/.exec(line) ?? [];
      return { name: name.toUpperCase(), rest };
    });
}

/** The default of a build argument. @throws Error if the Dockerfile does not define it */
export function defaultOf(argument: string, dockerfile: string): string {
  const found = instructionsOf(dockerfile).find(
    ({ name, rest }) => name === 'ARG' && rest.startsWith(`${argument}=`),
  );
  if (found === undefined) throw new Error(`failed to read the Dockerfile: it has no ARG ${argument}=…`);
  return found.rest.slice(argument.length + 1);
}

/** The instructions of the last stage, without its FROM. */
export function lastStage(dockerfile: string): Instruction[] {
  const all = instructionsOf(dockerfile);
  return all.slice(all.findLastIndex(({ name }) => name === 'FROM') + 1);
}

/** `A=1 B="two words"` as an object. */
function pairs(text: string): Record<string, string> {
  const found = text.matchAll(/([\w.-]+)=(?:"([^"]*)"|(\S*))/g);
  return Object.fromEntries([...found].map(([, key = '', quoted, plain = '']) => [key, quoted ?? plain]));
}

const NANOSECONDS = { ms: 1e6, s: 1e9, m: 60e9 } as const;

/** `10s` in nanoseconds. */
function duration(text: string): number {
  const [, count = '', unit = ''] = /^(\d+)(ms|s|m)$/.exec(text) ?? [];
  if (count === '') throw new Error(`failed to read the Dockerfile: ${text} is no duration such as 10s`);
  return Number(count) * NANOSECONDS[unit as keyof typeof NANOSECONDS];
}

const HEALTHCHECK_OPTIONS: Readonly<Record<string, string>> = {
  interval: 'Interval',
  timeout: 'Timeout',
  'start-period': 'StartPeriod',
};

function healthcheck(rest: string): object {
  const [options = '', command = ''] = rest.split(/\bCMD\b/);
  const times = [...options.matchAll(/--([\w-]+)=(\S+)/g)].map(([, name = '', value = '']) => [
    HEALTHCHECK_OPTIONS[name] ?? name,
    duration(value),
  ]);
  return { Test: ['CMD', ...JSON.parse(command)], ...Object.fromEntries(times) };
}

const READERS: Readonly<Record<string, (rest: string) => RunConfig>> = {
  ENV: (rest) => ({ Env: Object.entries(pairs(rest)).map(([name, value]) => `${name}=${value}`) }),
  LABEL: (rest) => ({ Labels: pairs(rest) }),
  USER: (rest) => ({ User: rest }),
  WORKDIR: (rest) => ({ WorkingDir: rest }),
  EXPOSE: (rest) => ({
    ExposedPorts: Object.fromEntries(rest.split(/\s+/).map((port) => [`${port}/tcp`, {}])),
  }),
  HEALTHCHECK: (rest) => ({ Healthcheck: healthcheck(rest) }),
  // The lists of a base do not apply to another entry point.
  ENTRYPOINT: (rest) => ({ Entrypoint: JSON.parse(rest), Cmd: [] }),
  CMD: (rest) => ({ Cmd: JSON.parse(rest) }),
};

/** Variables of both lists. The second list takes precedence. */
function mergedEnv(first: readonly string[] = [], second: readonly string[] = []): string[] {
  const byName = new Map([...first, ...second].map((line) => [line.slice(0, line.indexOf('=')), line]));
  return [...byName.values()];
}

/** The configuration of a base, with what another one sets. */
export function mergeConfig(base: RunConfig, own: RunConfig): RunConfig {
  const merged = { ...base, ...own };
  if (base.Env || own.Env) merged.Env = mergedEnv(base.Env, own.Env);
  if (base.Labels || own.Labels) merged.Labels = { ...base.Labels, ...own.Labels };
  if (base.ExposedPorts || own.ExposedPorts)
    merged.ExposedPorts = { ...base.ExposedPorts, ...own.ExposedPorts };
  return merged;
}

/** What the last stage of a Dockerfile sets. Instructions that change files are ignored. */
export function configOf(dockerfile: string): RunConfig {
  return lastStage(dockerfile).reduce<RunConfig>(
    (config, { name, rest }) => mergeConfig(config, READERS[name]?.(rest) ?? {}),
    {},
  );
}
