import type { Revision } from '../api/types.ts';
import { RevisionMark } from '../deployment/status-mark.tsx';
import { ScrollTable } from '../ui/scroll-table.tsx';
import { useNow } from '../ui/use-now.ts';
import { Beginning, Duration } from './duration.tsx';
import { type KnownEvents, type Step, secondsBetween, stepText, timelineOf } from './steps.ts';
import styles from './timeline.module.css';

function EndedStep({ step }: { readonly step: Step }) {
  return (
    <tr>
      <th scope="row">{stepText(step)}</th>
      <td>
        <Beginning at={step.from} />
      </td>
      <td>
        <Duration seconds={secondsBetween(step.from, step.to)} />
      </td>
    </tr>
  );
}

interface StepListProps {
  readonly revision: Revision;
  readonly events: KnownEvents;
  readonly isStale: boolean;
}

/** The statuses of a revision, with the time that each took. */
export function StepList({ revision, events, isStale }: StepListProps) {
  const now = new Date(useNow()).toISOString();
  const { steps, status, since, isFinal } = timelineOf(revision, events);
  const { build } = revision;
  const total = secondsBetween(revision.created_at, isFinal ? since : now);
  return (
    <>
      <ScrollTable
        label={`Steps of revision ${revision.number}`}
        columns={['Step', 'Began', isFinal ? 'Duration' : 'Duration so far']}
      >
        {steps.map((step) => (
          <EndedStep key={`${step.from} ${stepText(step)}`} step={step} />
        ))}
        <tr>
          <th scope="row">
            <RevisionMark status={status} isStale={isStale} />
          </th>
          <td>
            <Beginning at={since} />
          </td>
          <td>{isFinal ? '–' : <Duration seconds={secondsBetween(since, now)} />}</td>
        </tr>
      </ScrollTable>
      <p className={styles['total']}>
        {isFinal ? 'In all: ' : 'So far: '}
        <Duration seconds={total} />
        {build !== null && (
          <>
            . The build ran for{' '}
            <Duration
              seconds={secondsBetween(
                build.started_at ?? null,
                build.finished_at ?? (build.phase === 'Running' ? now : null),
              )}
            />
          </>
        )}
        .
      </p>
    </>
  );
}
