import type { ReactNode } from 'react';
import styles from './ui.module.css';

/** Shown instead of a list without entries, with what to do. */
export const Empty = ({ title, children }: { readonly title: string; readonly children?: ReactNode }) => (
  <div className={styles['empty']}>
    <h2>{title}</h2>
    {children}
  </div>
);
