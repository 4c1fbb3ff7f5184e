import { z } from 'zod';
import type { HostingMode } from '../domain/deployment/source.ts';

/** `PER_SECOND:BURST`, or `off`. */
export const rateText = z
  .string()
  .regex(/^(off|\d{1,6}(\.\d{1,3})?:\d{1,7})$/, 'must be PER_SECOND:BURST such as 50:200, or off')
  .refine((text) => !/^[0.]+:|:0+$/.test(text), 'must be more than 0, with a burst of at least 1');
/** A rate setting with a default. */
export const rate = (fallback: string) => rateText.default(fallback);

/** Default rate of an API key. The default is lower in cloud mode, where tenants do not trust each other. */
const DEFAULT_RATES = { cloud: '100:1000', self_hosted: '500:5000' } as const;

/** Parses a rate. null: off. */
export function parseRate(text: string): { perSecond: number; burst: number } | null {
  const [perSecond = 0, burst = 0] = text.split(':').map(Number);
  return text === 'off' ? null : { perSecond, burst };
}

/** The rate of an API key: the setting, otherwise the default of the hosting mode. */
export function rateOfKeys(given: string | undefined, hosting: HostingMode) {
  return parseRate(given ?? DEFAULT_RATES[hosting]);
}
