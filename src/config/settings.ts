import type { z } from 'zod';
import { BUILD_SETTINGS } from './build-settings.ts';
import { BUILD_STEP_SETTINGS } from './build-step-settings.ts';
import { CLUSTER_SETTINGS } from './cluster-settings.ts';
import { ConfigError } from './config-error.ts';
import { HUB_SETTINGS } from './hub-settings.ts';
import { IMAGE_SETTINGS } from './image-settings.ts';
import type { Reader, Setting } from './setting.ts';
import { TELEMETRY_SETTINGS } from './telemetry-settings.ts';
import { describeUnknown, unknownSettings } from './unknown-settings.ts';

/** Every setting, by environment variable. */
export const SETTINGS = {
  ...HUB_SETTINGS,
  ...CLUSTER_SETTINGS,
  ...IMAGE_SETTINGS,
  ...BUILD_SETTINGS,
  ...BUILD_STEP_SETTINGS,
  ...TELEMETRY_SETTINGS,
} as const;

type SettingName = keyof typeof SETTINGS;
/** The parsed settings, by environment variable. */
export type Settings = { [Name in SettingName]: z.infer<(typeof SETTINGS)[Name]['schema']> };

/**
 * Reads every setting and ignores all other variables, including unknown ones with the prefix BERTH_: during an
 * upgrade, the previous version may start with settings of the next version (decision 0032). A misspelled setting is an
 * error, because without the setting of a policy, everything would be allowed.
 * @throws ConfigError that names every wrong setting at once
 */
export function parseSettings(environment: NodeJS.ProcessEnv): Settings {
  const problems: string[] = [];
  const parsed: Record<string, unknown> = {};
  for (const [name, { schema, help }] of Object.entries(SETTINGS)) {
    const result = schema.safeParse(environment[name] === '' ? undefined : environment[name]);
    if (result.success) parsed[name] = result.data;
    else problems.push(`${name}: ${result.error.issues.map((issue) => issue.message).join('; ')} (${help})`);
  }
  const unknown = unknownSettings(environment, Object.keys(SETTINGS));
  problems.push(...unknown.filter(({ isMisspelt }) => isMisspelt).map(describeUnknown));
  if (problems.length > 0) throw new ConfigError(problems);
  return parsed as Settings;
}

/** A setting, as help shows it. */
export interface SettingHelp {
  readonly name: string;
  readonly help: string;
  /** null: no default, or a default that depends on other settings (stated in the help). */
  readonly fallback: string | null;
}

/** The settings that a role reads. Without a role: all settings. */
export function settingHelps(role?: Reader | 'all'): SettingHelp[] {
  return Object.entries(SETTINGS).flatMap(([name, { schema, help, readers }]: [string, Setting]) => {
    if (role !== undefined && role !== 'all' && readers?.includes(role) === false) return [];
    const { data } = schema.safeParse(undefined);
    const isSet = data !== undefined && !(Array.isArray(data) && data.length === 0);
    return [{ name, help, fallback: isSet ? String(data) : null }];
  });
}
