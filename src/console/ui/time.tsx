import { relativeText } from './time-text.ts';
import { useNow } from './use-now.ts';

/** A time relative to now. Its tooltip has the exact time. */
export function Time({ at }: { readonly at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()}>
      {relativeText(at, now)}
    </time>
  );
}
