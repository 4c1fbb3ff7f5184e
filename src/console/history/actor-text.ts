import type { BerthEvent } from '../api/types.ts';

type Actor = BerthEvent['actor'];

const KINDS: Readonly<Record<Actor['kind'], string>> = {
  api_key: 'API key',
  person: 'person',
  workload: 'pipeline',
  listener: 'listener',
  system: 'Berth',
};

/** What the author of an event is, because names of keys and people can be equal. */
export const actorKind = ({ kind }: Pick<Actor, 'kind'>): string => KINDS[kind] ?? kind;

export const actorName = ({ name, id }: Actor): string => name ?? id ?? 'unknown';
