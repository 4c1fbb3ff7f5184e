import { Time } from '../ui/time.tsx';
import { durationText } from '../ui/time-text.ts';

const UNKNOWN = 'unknown';

/** A duration. Less than a second is written as such, because most steps are short. */
export function Duration({ seconds }: { readonly seconds: number | null }) {
  if (seconds === null) return UNKNOWN;
  return seconds < 1 ? 'less than 1 s' : durationText(Math.floor(seconds));
}

/** When something began. */
export const Beginning = ({ at }: { readonly at: string | null }) =>
  at === null ? UNKNOWN : <Time at={at} />;
