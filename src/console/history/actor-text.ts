import type { BerthEvent } from '../api/types.ts';

const KINDS: Readonly<Record<BerthEvent['actor']['kind'], string>> = {
  api_key: 'API key',
  person: 'person',
  workload: 'pipeline',
  listener: 'listener',
  system: 'Berth',
};

/** Who caused an event, with the kind, because names of keys and people can be equal. */
export function actorText({ kind, name, id }: BerthEvent['actor']): string {
  const text = KINDS[kind] ?? kind;
  return kind === 'system' ? (name ?? text) : `${name ?? id ?? 'unknown'} (${text})`;
}
