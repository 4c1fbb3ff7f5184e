import type { ObjectContainer } from '../api/types.ts';

/** CPU and memory of containers: measured, requested and at most. */

export type Resource = 'cpu' | 'memory_mb';

export interface Amounts {
  /** undefined: not measured. */
  readonly usage: number | undefined;
  /** undefined: not set. */
  readonly request: number | undefined;
  readonly limit: number | undefined;
}

export const amountsOf = (
  { usage, requests, limits }: Pick<ObjectContainer, 'usage' | 'requests' | 'limits'>,
  resource: Resource,
): Amounts => ({ usage: usage?.[resource], request: requests[resource], limit: limits[resource] });

/** The sum of known values. A sum with an unknown part would be too low, so it is unknown. */
function sum(values: readonly (number | undefined)[]): number | undefined {
  if (values.length === 0) return undefined;
  return values.reduce((total, value) =>
    total === undefined || value === undefined ? undefined : total + value,
  );
}

/** What the containers of a pod use together. Init containers have ended when the others run. */
export function podAmounts(containers: readonly ObjectContainer[], resource: Resource): Amounts {
  const all = containers.filter(({ init }) => !init).map((container) => amountsOf(container, resource));
  return {
    usage: sum(all.map(({ usage }) => usage)),
    request: sum(all.map(({ request }) => request)),
    limit: sum(all.map(({ limit }) => limit)),
  };
}

const rounded = (value: number, digits: number) => String(Number(value.toFixed(digits)));

/** Such as `0.25` cores or `512 MB`. */
export function amountText(value: number, resource: Resource): string {
  if (resource === 'cpu') return rounded(value, 3);
  return value >= 1024 ? `${rounded(value / 1024, 2)} GB` : `${rounded(value, 0)} MB`;
}

/** Such as `0.1 used, 0.5 requested, 1 at most`. */
export function amountsText({ usage, request, limit }: Amounts, resource: Resource): string {
  const text = (value: number) => amountText(value, resource);
  const used = usage === undefined ? '' : `${text(usage)} used`;
  const requested = request === undefined ? '' : `${text(request)} requested`;
  const most = limit === undefined ? '' : `${text(limit)} at most`;
  return [used, requested, most].filter((part) => part !== '').join(', ') || 'not set';
}

/** The part of the limit, or without one of the request, that is used. undefined: not known. */
export function usedPart({ usage, request, limit }: Amounts): number | undefined {
  const whole = limit ?? request;
  return usage === undefined || whole === undefined || whole === 0 ? undefined : usage / whole;
}
