import type { ReactNode } from 'react';
import styles from './deployment.module.css';

interface SectionProps {
  readonly id: string;
  readonly title: string;
  /** The `ShowCommand` of the section. */
  readonly command?: ReactNode;
  readonly children: ReactNode;
}

/** A part of the page of a deployment, with its heading. */
export const Section = ({ id, title, command, children }: SectionProps) => (
  <section aria-labelledby={id} className={styles['section']}>
    <div className={styles['sectionHead']}>
      <h2 id={id}>{title}</h2>
      {command}
    </div>
    {children}
  </section>
);
