import type { Tenant, TenantQuotas } from '../api/types.ts';

/** The quotas of a tenant as texts of a form: a number, `none` for no limit, or empty for the quota of the policy. */

/** Label and option of each quota. A missing one is a type error, because saving would remove it. */
const LABELS: Readonly<Record<keyof TenantQuotas, readonly [label: string, option: string]>> = {
  deployments: ['Deployments', '--deployments'],
  cpu: ['CPU (cores)', '--cpu'],
  memory_mb: ['Memory (MiB)', '--memory-mb'],
  storage_gi: ['Storage (GiB)', '--storage-gi'],
  gpus: ['GPUs', '--gpus'],
  domains: ['Additional hosts', '--domains'],
  schedules: ['Schedules', '--schedules'],
  uploads_mb: ['Uploaded folders (MiB)', '--uploads-mb'],
};
export type QuotaName = keyof typeof LABELS;
export const QUOTAS = Object.entries(LABELS).map(
  ([name, [label, option]]) => [name as QuotaName, label, option] as const,
);
export type QuotaTexts = Readonly<Record<QuotaName, string>>;
/** What a person has typed. Absent: not changed. */
export type QuotaChanges = Partial<QuotaTexts>;
export type OwnQuotas = { [K in QuotaName]?: number | null };

const NONE = 'none';

export const quotaTextsOf = ({ quotas }: Pick<Tenant, 'quotas'>): QuotaTexts =>
  Object.fromEntries(
    QUOTAS.map(([name]) => {
      const value = quotas[name];
      return [name, value === undefined ? '' : value === null ? NONE : String(value)];
    }),
  ) as QuotaTexts;

/** The changes without those that are already stored. */
export function realChanges(stored: QuotaTexts, typed: QuotaChanges): QuotaChanges {
  const changed = QUOTAS.flatMap(([name]): [string, string][] => {
    const text = typed[name]?.trim();
    return text === undefined || text === stored[name] ? [] : [[name, text]];
  });
  return Object.fromEntries(changed);
}

/** The quota that a text means; undefined: that of the policy. */
function quotaOf(label: string, text: string): number | null | undefined {
  if (text === '') return undefined;
  if (text === NONE) return null;
  const value = Number(text);
  if (!Number.isFinite(value) || value < 0)
    throw new Error(`${label} must be a number from 0, or none, not "${text}".`);
  return value;
}

/**
 * The quotas of a tenant with some changes. What was not changed stays as it is stored.
 * @throws Error that names the field
 */
export function withQuotas({ quotas }: Pick<Tenant, 'quotas'>, changes: QuotaChanges): OwnQuotas {
  const entries = QUOTAS.flatMap(([name, label]): [string, number | null][] => {
    const text = changes[name];
    const value = text === undefined ? quotas[name] : quotaOf(label, text.trim());
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(entries);
}

/** The options of `berth tenants` for these changes. It cannot give a quota back to the policy, so this is null then. */
export function quotaOptions(changes: QuotaChanges): string[] | null {
  if (Object.values(changes).includes('')) return null;
  return QUOTAS.flatMap(([name, , option]) => (changes[name] === undefined ? [] : [option, changes[name]]));
}

/** The limits that apply, in words. */
export function limitsText(quotas: TenantQuotas): string {
  const limits = QUOTAS.flatMap(([name, label]) => {
    const value = quotas[name];
    return value == null ? [] : [`${label}: ${value.toLocaleString('en')}`];
  });
  return limits.length === 0 ? 'no limit' : limits.join('; ');
}
