import type { ObjectMap } from '../api/types.ts';
import styles from './objects.module.css';

/** What a map does not contain. A map with gaps must not appear to be complete. */
export function Missing({
  unread,
  omitted = [],
}: Pick<ObjectMap, 'unread'> & Partial<Pick<ObjectMap, 'omitted'>>) {
  if (unread.length === 0 && omitted.length === 0) return null;
  return (
    <ul className={styles['missing']}>
      {unread.map(({ kind, message }) => (
        <li key={kind}>
          <bdi>{kind}</bdi> could not be read: <bdi>{message}</bdi>
        </li>
      ))}
      {omitted.map(({ kind, count, exact }) => (
        <li key={kind}>
          {exact ? '' : 'At least '}
          {count} more of the kind <bdi>{kind}</bdi> are not listed.
        </li>
      ))}
    </ul>
  );
}
