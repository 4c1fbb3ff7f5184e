import type { Deployment } from '../api/types.ts';
import styles from '../change/change.module.css';
import { ChangedValue } from '../change/changed-value.tsx';
import { pathText } from '../form/json.ts';
import { Button } from '../ui/button.tsx';
import { FieldName } from '../ui/field-name.tsx';
import { ScrollTable } from '../ui/scroll-table.tsx';
import { Time } from '../ui/time.tsx';
import type { othersChanges } from './merge.ts';

interface OutdatedNoticeProps {
  /** The deployment as it is now. */
  readonly deployment: Deployment;
  readonly changes: ReturnType<typeof othersChanges>;
  /** Keeps one's own changes, on top of those of others; null: what was typed is not valid YAML. */
  readonly onContinue: (() => void) | null;
  readonly onDiscard: () => void;
}

/** Says that someone else has changed the deployment during the edit, and what. Nothing typed is lost. */
export function OutdatedNotice({ deployment, changes, onContinue, onDiscard }: OutdatedNoticeProps) {
  const { updated_by: actor, updated_at: at } = deployment;
  return (
    <div role="alert" className={styles['notice']}>
      <p>
        <strong>The deployment was changed since you began</strong>
        {actor !== null && (
          <>
            {' '}
            by <bdi>{actor.name ?? actor.kind}</bdi>
          </>
        )}{' '}
        (<Time at={at} />
        ). Your changes are still here.
      </p>
      {changes.length === 0 && (
        <p>No field that is shown here differs. The value of a secret may have changed.</p>
      )}
      {changes.length > 0 && (
        <ScrollTable label="Changes by others" columns={['Field', 'When you began', 'Now', 'Yours']}>
          {changes.map(({ path, before, after, isOwn }) => (
            <tr key={pathText(path)}>
              <th scope="row" className={styles['field']}>
                <FieldName field={pathText(path)} />
              </th>
              <td>
                <ChangedValue value={before} />
              </td>
              <td>
                <ChangedValue value={after} />
              </td>
              <td>{isOwn ? 'You changed this field too. Your value is kept.' : 'Not changed by you.'}</td>
            </tr>
          ))}
        </ScrollTable>
      )}
      <p className={styles['buttons']}>
        {onContinue === null ? (
          <span>Correct the YAML to continue.</span>
        ) : (
          <Button variant="primary" onClick={onContinue}>
            Continue with my changes
          </Button>
        )}
        <Button variant="danger" onClick={onDiscard}>
          Discard my changes
        </Button>
      </p>
    </div>
  );
}
