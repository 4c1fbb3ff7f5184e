import type { DomainStatus } from '../api/types.ts';
import type { Tone } from '../ui/tone.ts';

type DomainState = DomainStatus['dns' | 'proof' | 'certificate' | 'route'];

const TONES: Readonly<Record<DomainState, Tone>> = {
  READY: 'good',
  PENDING: 'busy',
  REFUSED: 'bad',
  NOT_REQUIRED: 'off',
  UNKNOWN: 'unsure',
};

/** How the state of a part of a host is shown. */
export const toneOfDomain = (state: DomainState): Tone => TONES[state] ?? 'unsure';
