import { FieldName } from '../ui/field-name.tsx';
import { LongText } from '../ui/long-text.tsx';
import { ScrollTable } from '../ui/scroll-table.tsx';
import type { Difference } from './differences.ts';
import styles from './revisions.module.css';

function Value({ text }: { readonly text: string | null }) {
  if (text === null) return <span className={styles['unset']}>not set</span>;
  return text === '' ? (
    <span className={styles['unset']}>empty</span>
  ) : (
    <pre className={styles['value']}>
      <LongText text={text} />
    </pre>
  );
}

interface DifferenceTableProps {
  readonly label: string;
  readonly from: string;
  readonly to: string;
  readonly rows: readonly Difference[];
}

/** Changed fields with both values. */
export const DifferenceTable = ({ label, from, to, rows }: DifferenceTableProps) => (
  <ScrollTable label={label} columns={['Field', from, to]}>
    {rows.map((row) => (
      <tr key={row.field}>
        <th scope="row" className={styles['field']}>
          <FieldName field={row.field} />
        </th>
        <td>
          <Value text={row.from} />
        </td>
        <td>
          <Value text={row.to} />
        </td>
      </tr>
    ))}
  </ScrollTable>
);
