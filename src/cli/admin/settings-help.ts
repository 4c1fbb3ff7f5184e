import type { Role } from '../../app/roles.ts';
import { type SettingHelp, settingHelps } from '../../config/index.ts';

/** The settings in the help of the roles. */

function settingLines(helps: readonly SettingHelp[]): string {
  const width = Math.max(...helps.map(({ name }) => name.length));
  return helps
    .map(({ name, help, fallback }) => {
      const value = fallback === null ? '' : ` (default: ${fallback})`;
      return `  ${name.padEnd(width)}  ${help}${value}`;
    })
    .join('\n');
}

/** The settings of a role, or all settings. */
export function settingsHelp(role?: Role): string {
  return `Settings (environment variables):\n${settingLines(settingHelps(role))}`;
}
