import type { ReactNode } from 'react';
import styles from './ui.module.css';

interface ScrollTableProps {
  /** Name for screen readers, such as "Conditions". */
  readonly label: string;
  readonly columns: readonly string[];
  /** Rows (`tr`). Their first cell is a `th` with the scope row. */
  readonly children: ReactNode;
}

/** A table that scrolls sideways on narrow screens, with the keyboard too. */
export const ScrollTable = ({ label, columns, children }: ScrollTableProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls what has the focus.
  <section className={styles['scroll']} tabIndex={0} aria-label={`Table: ${label}`}>
    <table className={styles['table']}>
      <thead>
        <tr>
          {columns.map((column) => (
            <th scope="col" key={column}>
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </section>
);
