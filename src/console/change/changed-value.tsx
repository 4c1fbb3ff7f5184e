import { LongText } from '../ui/long-text.tsx';
import styles from './change.module.css';
import { changeText } from './plan.ts';

/** A value of a changed field. It can be long, such as a variable. */
export const ChangedValue = ({ value }: { readonly value: unknown }) => (
  <pre className={styles['changed']}>
    <LongText text={changeText(value)} />
  </pre>
);
