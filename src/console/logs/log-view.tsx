import { useMemo, useState } from 'react';
import { Button } from '../ui/button.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import type { LogFilters } from './log-filters.ts';
import { droppedOf, type LogLines, matching } from './log-lines.ts';
import { LogList } from './log-list.tsx';
import type { ReadingState } from './log-store.ts';
import styles from './logs.module.css';

function State({ state }: { readonly state: ReadingState }) {
  switch (state.kind) {
    case 'connecting':
      return 'Connecting …';
    case 'reading':
      return 'Reading. New lines appear by themselves.';
    case 'interrupted':
      return 'The connection was interrupted. Connecting again …';
    case 'ended':
      return (
        <>
          The log ends: <bdi>{state.message}</bdi>
        </>
      );
    case 'failed':
      return 'The log could not be read.';
  }
}

function countText(shown: number, lines: LogLines): string {
  const dropped = droppedOf(lines);
  const older = dropped === 0 ? '' : ` ${dropped} older lines are no longer kept.`;
  const all = lines.entries.length;
  return `${shown === all ? `${all} lines.` : `${shown} of ${all} lines match.`}${older}`;
}

interface LogViewProps {
  readonly lines: LogLines;
  readonly state: ReadingState;
  readonly filters: LogFilters;
  readonly onRestart: () => void;
}

/** The lines of a log. While it is paused, it shows those that had arrived, and continues to read. */
export function LogView({ lines, state, filters, onRestart }: LogViewProps) {
  const [paused, setPaused] = useState<LogLines | null>(null);
  const present = paused ?? lines;
  const { container, q } = filters;
  const entries = useMemo(
    () => matching(present, { ...(container && { container }), ...(q && { q }) }),
    [present, container, q],
  );
  const pause = () => setPaused((last) => last ?? lines);
  const restart = () => {
    setPaused(null);
    onRestart();
  };
  const isDone = state.kind === 'ended' || state.kind === 'failed';
  return (
    <>
      <div className={styles['bar']}>
        {paused === null ? (
          <Button onClick={pause}>Pause</Button>
        ) : (
          <Button variant="primary" onClick={() => setPaused(null)}>
            Follow ({lines.count - paused.count} new)
          </Button>
        )}
        {isDone && <Button onClick={restart}>Read again</Button>}
        <span role="status">
          <State state={state} />
        </span>
        <span>{countText(entries.length, present)}</span>
      </div>
      {state.kind === 'failed' && <ProblemNotice error={state.error} onRetry={restart} />}
      <LogList entries={entries} isFollowing={paused === null} onScrollUp={pause} />
    </>
  );
}
