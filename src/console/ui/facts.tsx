import { Fragment, type ReactNode } from 'react';
import styles from './facts.module.css';

/** A label with what it stands for. Absent values are left out. */
export type Fact = readonly [label: string, value: ReactNode];

interface FactsProps {
  readonly facts: readonly Fact[];
  /** Whether the facts stand below each other. Default: in columns, as the width allows. */
  readonly isNarrow?: boolean;
}

/** Facts about one thing. */
export const Facts = ({ facts, isNarrow = false }: FactsProps) => (
  <dl className={`${styles['facts']} ${isNarrow ? '' : styles['columns']}`}>
    {facts.map(([label, value]) =>
      value == null ? (
        <Fragment key={label} />
      ) : (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ),
    )}
  </dl>
);
