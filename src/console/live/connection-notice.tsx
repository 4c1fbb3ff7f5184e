import styles from './live.module.css';
import { useConnection } from './live-updates.tsx';

/** Says when changes do not arrive by themselves. */
export function ConnectionNotice() {
  const isDown = useConnection() === 'down';
  return (
    <div role="status">
      {isDown && (
        <p className={styles['notice']}>
          Live updates are interrupted. This page asks for changes every 10 seconds, and tries to connect
          again.
        </p>
      )}
    </div>
  );
}
