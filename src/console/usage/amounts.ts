import type { Usage } from '../api/types.ts';
import type { Tone } from '../ui/tone.ts';

/** Usage of a tenant beside its quotas. */

export interface AmountRow {
  readonly name: string;
  readonly unit: string;
  readonly used: number;
  /** null: no limit. */
  readonly quota: number | null;
}

/** Name and unit of each amount. A missing one is a type error. */
const AMOUNTS: Readonly<Record<keyof Usage['quotas'], readonly [name: string, unit: string]>> = {
  deployments: ['Deployments', ''],
  cpu: ['CPU, requested at full scale', 'cores'],
  memory_mb: ['Memory, requested at full scale', 'MiB'],
  storage_gi: ['Storage of databases', 'GiB'],
  gpus: ['GPUs and other extended resources', ''],
  domains: ['Additional hosts', ''],
  schedules: ['Schedules', ''],
  uploads_mb: ['Uploaded folders', 'MiB'],
};

/** The amounts that are used or limited. */
export function amountRows({ usage, quotas }: Usage): AmountRow[] {
  return Object.entries(AMOUNTS).flatMap(([key, [name, unit]]) => {
    const quota = key as keyof typeof AMOUNTS;
    const used = usage[quota];
    return used === undefined ? [] : [{ name, unit, used, quota: quotas[quota] ?? null }];
  });
}

/** The part of the quota that is used; null: no limit. */
export function usedPart({ used, quota }: AmountRow): number | null {
  if (quota === null) return null;
  return quota === 0 ? 1 : used / quota;
}

/** From this part of a quota on, a warning is shown. */
const NEARLY_FULL = 0.9;

/** How the usage stands. A quota can be lowered below the usage. */
export function amountState(row: AmountRow): { readonly tone: Tone; readonly text: string } {
  const part = usedPart(row);
  if (part === null) return { tone: 'off', text: 'no limit' };
  if (row.used > (row.quota ?? 0)) return { tone: 'bad', text: 'above the quota' };
  if (row.used === row.quota && row.used > 0) return { tone: 'bad', text: 'used up' };
  const text = `${Math.round((row.quota === 0 ? 0 : part) * 100)} % used`;
  return { tone: part >= NEARLY_FULL && row.used > 0 ? 'unsure' : 'good', text };
}

/** An amount with its unit. */
export const amountText = (value: number, unit: string): string =>
  unit === '' ? value.toLocaleString('en') : `${value.toLocaleString('en')} ${unit}`;
