import { z } from 'zod';
import { secret, setting } from './setting.ts';
import type { Settings } from './settings.ts';
import { baseUrl } from './value-schemas.ts';

/** Settings of the traces of Berth itself, which every role reads. */

const HEADER = /^[!#$%&'*+.^`|~\w-]+=[\x20-\x7e]+$/;

const headersText = z
  .string()
  .refine(
    (text) => text.split(',').every((part) => HEADER.test(part.trim())),
    'must be NAME=VALUE, comma-separated',
  );

export const TELEMETRY_SETTINGS = {
  BERTH_TRACES_ENDPOINT: setting(
    baseUrl,
    'OTLP receiver over HTTP for the traces of Berth itself (docs/observability.md). Unset: no traces',
  ),
  BERTH_TRACES_HEADERS: secret(
    headersText.optional(),
    'headers with credentials for the receiver, NAME=VALUE, comma-separated',
  ),
  BERTH_TRACES_SAMPLE: setting(
    z.coerce.number().min(0).max(1).default(1),
    'fraction of changes that is traced, from 0 to 1. Every role traces the same changes',
  ),
} as const;

/** The destination of traces. null: traces are disabled. */
export function tracesOf(settings: Settings) {
  const {
    BERTH_TRACES_ENDPOINT: endpoint,
    BERTH_TRACES_HEADERS: headers,
    BERTH_TRACES_SAMPLE: sample,
  } = settings;
  if (endpoint === undefined) return null;
  const pairs = (headers ?? '').split(',').filter((part) => part.trim() !== '');
  return {
    endpoint: endpoint.replace(/\/+$/, ''),
    headers: Object.fromEntries(
      pairs.map((pair) => {
        const [name = '', ...value] = pair.split('=');
        return [name.trim(), value.join('=').trim()] as const;
      }),
    ),
    sample,
  };
}
