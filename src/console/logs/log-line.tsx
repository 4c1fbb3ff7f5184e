import { memo } from 'react';
import { type Segment, segmentsOf } from './ansi.ts';
import type { ShownEntry } from './log-lines.ts';
import styles from './logs.module.css';

function classesOf({ hue, isBold, isItalic, isUnderlined }: Segment): string | undefined {
  const names = [
    hue,
    ...(isBold ? ['bold'] : []),
    ...(isItalic ? ['italic'] : []),
    ...(isUnderlined ? ['underlined'] : []),
  ];
  const classes = names.flatMap((name) => (name === null ? [] : (styles[name] ?? [])));
  return classes.length === 0 ? undefined : classes.join(' ');
}

/** The time of day. The tooltip has the exact time. */
function timeOf(at: string): string {
  const time = new Date(at);
  return Number.isNaN(time.getTime()) ? at : time.toLocaleTimeString();
}

/** A line of a log. Its text is only ever a text node. */
export const LogLineView = memo(function LogLineView({ entry }: { readonly entry: ShownEntry }) {
  return (
    <>
      <span className={styles['meta']}>
        <time dateTime={entry.at} title={entry.at}>
          {timeOf(entry.at)}
        </time>
        {entry.origin.map((part, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a pod and its container can have the same name.
          <bdi key={index}> {part}</bdi>
        ))}
      </span>
      <span className={styles['text']}>
        {segmentsOf(entry.text).map((segment, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a line never change.
          <span key={index} className={classesOf(segment)}>
            {segment.text}
          </span>
        ))}
      </span>
    </>
  );
});
