import type { Tenant, TenantQuotas } from '../api/types.ts';

/** The quotas of a tenant as texts of a form: a number, `none` for no limit, or empty for the quota of the policy. */

export const QUOTAS = [
  ['deployments', 'Deployments', '--deployments'],
  ['cpu', 'CPU (cores)', '--cpu'],
  ['memory_mb', 'Memory (MiB)', '--memory-mb'],
  ['storage_gi', 'Storage (GiB)', '--storage-gi'],
  ['gpus', 'GPUs', '--gpus'],
  ['domains', 'Additional hosts', '--domains'],
  ['uploads_mb', 'Uploaded folders (MiB)', '--uploads-mb'],
] as const;
export type QuotaName = (typeof QUOTAS)[number][0];
export type QuotaTexts = Readonly<Record<QuotaName, string>>;
export type OwnQuotas = { [K in QuotaName]?: number | null };

const NONE = 'none';

export const quotaTextsOf = ({ quotas }: Pick<Tenant, 'quotas'>): QuotaTexts =>
  Object.fromEntries(
    QUOTAS.map(([name]) => {
      const value = quotas[name];
      return [name, value === undefined ? '' : value === null ? NONE : String(value)];
    }),
  ) as QuotaTexts;

/**
 * The quotas that the texts mean.
 * @throws Error that names the field
 */
export function quotasOf(texts: QuotaTexts): OwnQuotas {
  const entries = QUOTAS.flatMap(([name, label]): [string, number | null][] => {
    const text = texts[name].trim();
    if (text === '') return [];
    if (text === NONE) return [[name, null]];
    const value = Number(text);
    if (!Number.isFinite(value) || value < 0)
      throw new Error(`${label} must be a number from 0, or none, not "${text}".`);
    return [[name, value]];
  });
  return Object.fromEntries(entries);
}

/** The options of `berth tenants` for these quotas. It cannot give a quota back to the policy, so this is null then. */
export function quotaOptions(before: QuotaTexts, texts: QuotaTexts): string[] | null {
  const changed = QUOTAS.filter(([name]) => before[name] !== texts[name].trim());
  if (changed.some(([name]) => texts[name].trim() === '')) return null;
  return changed.flatMap(([name, , option]) => [option, texts[name].trim()]);
}

/** The limits that apply, in words. */
export function limitsText(quotas: TenantQuotas): string {
  const limits = QUOTAS.flatMap(([name, label]) => {
    const value = quotas[name];
    return value == null ? [] : [`${label}: ${value.toLocaleString('en')}`];
  });
  return limits.length === 0 ? 'no limit' : limits.join('; ');
}
