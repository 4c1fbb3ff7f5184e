import { Problem } from '../api/problem.ts';
import { Button } from './button.tsx';
import { MissingPart } from './late/missing-part.ts';
import styles from './ui.module.css';

interface ProblemNoticeProps {
  readonly error: Error;
  readonly onRetry?: () => void;
  /** Text of the button. */
  readonly retries?: string;
}

/** An error with its request id, which finds it in the log of the API. */
export function ProblemNotice({ error, onRetry, retries = 'Try again' }: ProblemNoticeProps) {
  const requestId = error instanceof Problem ? error.requestId : null;
  const isPlain = error instanceof Problem || error instanceof MissingPart;
  const message = isPlain ? error.message : `The console failed: ${error.message}`;
  return (
    <div role="alert" className={styles['problem']}>
      <p>{message}</p>
      {requestId !== null && (
        <p className={styles['quiet']}>
          Request id: <code>{requestId}</code>
        </p>
      )}
      {onRetry !== undefined && <Button onClick={onRetry}>{retries}</Button>}
    </div>
  );
}
