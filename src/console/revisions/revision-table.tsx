import type { Revision } from '../api/types.ts';
import { RevisionMark } from '../deployment/status-mark.tsx';
import { ReleaseLine } from '../tasks/release-line.tsx';
import { Button } from '../ui/button.tsx';
import { LongText } from '../ui/long-text.tsx';
import { ScrollTable } from '../ui/scroll-table.tsx';
import { Time } from '../ui/time.tsx';
import type { Repetition } from './repeat-dialog.tsx';
import styles from './revisions.module.css';

const COLUMNS = ['Number', 'Status', 'Image or commit', 'Reason', 'Created', 'Actions'] as const;

/** What a revision runs. */
const runs = ({
  source_revision_config: { image_uri: image, repo_commit_sha: commit, repo_ref: ref },
}: Revision) => image ?? commit ?? ref ?? '–';

interface Actions {
  readonly mayWrite: boolean;
  readonly onRepeat: (repetition: Repetition) => void;
  readonly onCompare: (revision: Revision) => void;
}

function RowActions({ revision, isLatest, mayWrite, onRepeat, onCompare }: Actions & RowFacts) {
  const { number } = revision;
  return (
    <div className={styles['actions']}>
      <Button
        onClick={() => onCompare(revision)}
        aria-label={
          isLatest ? `Compare revision ${number} with the one before` : `Compare revision ${number}`
        }
      >
        Compare
      </Button>
      {mayWrite && !isLatest && (
        <Button
          onClick={() => onRepeat({ kind: 'rollback', revision })}
          aria-haspopup="dialog"
          aria-label={`Roll back to revision ${number}`}
        >
          Roll back
        </Button>
      )}
      {mayWrite && (
        <Button
          onClick={() => onRepeat({ kind: 'redeploy', revision })}
          aria-haspopup="dialog"
          aria-label={`Redeploy revision ${number}`}
        >
          Redeploy
        </Button>
      )}
    </div>
  );
}

interface RowFacts {
  readonly revision: Revision;
  readonly isLatest: boolean;
}

interface RevisionTableProps extends Actions {
  readonly revisions: readonly Revision[];
  readonly activeId: string | null;
  readonly latestId: string | null;
  readonly isStale: boolean;
}

export const RevisionTable = ({ revisions, activeId, latestId, isStale, ...actions }: RevisionTableProps) => (
  <ScrollTable label="Revisions" columns={COLUMNS}>
    {revisions.map((revision) => (
      <tr key={revision.id}>
        <th scope="row">
          {revision.number}
          {revision.id === activeId && ' (active)'}
        </th>
        <td>
          <RevisionMark status={revision.status} isStale={isStale} />
        </td>
        <td>
          <code>
            <LongText text={runs(revision)} />
          </code>
        </td>
        <td>
          <bdi>{revision.reason}</bdi>
          {revision.message !== null && (
            <p>
              <LongText text={revision.message} />
            </p>
          )}
          <ReleaseLine revision={revision} />
        </td>
        <td>
          <Time at={revision.created_at} />
        </td>
        <td>
          <RowActions revision={revision} isLatest={revision.id === latestId} {...actions} />
        </td>
      </tr>
    ))}
  </ScrollTable>
);
