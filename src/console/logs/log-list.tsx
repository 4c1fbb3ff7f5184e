import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useCallback, useLayoutEffect, useRef } from 'react';
import { LogLineView } from './log-line.tsx';
import { MAX_LINES, type ShownEntry } from './log-lines.ts';
import styles from './logs.module.css';

const LINE_HEIGHT = 22;
/** The list remembers a height for each key, so the keys are used again. No two lines that are held have the same one. */
const keyOf = ({ number }: ShownEntry): number => number % (2 * MAX_LINES);
/** Keys that scroll up. */
const UP: ReadonlySet<string> = new Set(['ArrowUp', 'PageUp', 'Home']);

interface LogListProps {
  readonly entries: readonly ShownEntry[];
  /** Whether new lines scroll into view. */
  readonly isFollowing: boolean;
  /** The user scrolls up to read. */
  readonly onScrollUp: () => void;
}

/** The lines near the visible part. Only these are in the document, so that thousands scroll smoothly. */
export function LogList({ entries, isFollowing, onScrollUp }: LogListProps) {
  const list = useRef<HTMLElement>(null);
  // One function for the same lines, because the list computes all positions again for another one.
  const getItemKey = useCallback(
    (index: number) => {
      const entry = entries[index];
      return entry === undefined ? index : keyOf(entry);
    },
    [entries],
  );
  const virtualizer = useVirtualizer({
    count: entries.length,
    getScrollElement: () => list.current,
    estimateSize: () => LINE_HEIGHT,
    overscan: 20,
    getItemKey,
  });
  const height = virtualizer.getTotalSize();
  // The height changes when lines that wrap are measured.
  // biome-ignore lint/correctness/useExhaustiveDependencies: new lines and new heights scroll.
  useLayoutEffect(() => {
    if (isFollowing && list.current !== null) list.current.scrollTop = list.current.scrollHeight;
  }, [isFollowing, entries, height]);
  return (
    <section
      ref={list}
      className={styles['list']}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls what has the focus.
      tabIndex={0}
      aria-label="Lines of the log"
      onWheel={({ deltaY }) => {
        if (deltaY < 0) onScrollUp();
      }}
      onTouchMove={onScrollUp}
      onPointerDown={({ target, currentTarget }) => {
        // The scroll bar.
        if (target === currentTarget) onScrollUp();
      }}
      onKeyDown={({ key }: KeyboardEvent) => {
        if (UP.has(key)) onScrollUp();
      }}
    >
      <div className={styles['lines']} style={{ height }}>
        {virtualizer.getVirtualItems().map(({ key, index, start }) => {
          const entry = entries[index];
          if (entry === undefined) return null;
          return (
            <div
              key={key}
              ref={virtualizer.measureElement}
              data-index={index}
              className={styles['line']}
              style={{ transform: `translateY(${start}px)` }}
            >
              <LogLineView entry={entry} />
            </div>
          );
        })}
      </div>
    </section>
  );
}
