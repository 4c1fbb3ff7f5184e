import { Time } from '../ui/time.tsx';
import type { Freshness } from './freshness.ts';
import styles from './live.module.css';

/** Marks what a page shows as the last known state. */
export function StaleNotice({ freshness: { isStale, at } }: { readonly freshness: Freshness }) {
  if (!isStale) return null;
  return (
    <p role="status" className={styles['notice']}>
      This is the last known state, from <Time at={new Date(at).toISOString()} />. It may have changed.
    </p>
  );
}
