import type { Tone } from './tone.ts';
import styles from './ui.module.css';

/** Shapes that distinguish states without colors. */

const SHAPES: Readonly<Record<Tone, string>> = {
  good: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm-1 10L3.8 7.8l1.4-1.4L7 8.2l3.8-3.8 1.4 1.4Z',
  busy: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm0 2v10A5 5 0 0 1 8 3Z',
  bad: 'M5 1h6l4 4v6l-4 4H5l-4-4V5Zm2 3v5h2V4Zm0 6v2h2v-2Z',
  unsure:
    'M8 0l8 8-8 8-8-8Zm-.9 10.5v1.8h1.8v-1.8Zm-2-4.6h1.7c0-.8.5-1.2 1.2-1.2s1.1.4 1.1 1c0 1-1.9 1.2-1.9 3.2v.5h1.7v-.3c0-1.3 2-1.5 2-3.4C10.900 4 9.700 3.100 8 3.100S5.100 4.100 5.100 5.900Z',
  off: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm0 2a5 5 0 1 1 0 10A5 5 0 0 1 8 3Z',
};

/** A state that may be out of date is never shown as the present one. */
export const StateMark = ({
  tone,
  text,
  isStale,
}: {
  readonly tone: Tone;
  readonly text: string;
  readonly isStale: boolean;
}) => <Mark tone={isStale ? 'unsure' : tone} text={isStale ? `last known: ${text}` : text} />;

/** A state as shape and text. */
export const Mark = ({ tone, text }: { readonly tone: Tone; readonly text: string }) => (
  <span className={`${styles['mark']} ${styles[tone]}`}>
    <svg viewBox="0 0 16 16" aria-hidden="true" fillRule="evenodd">
      <path d={SHAPES[tone]} fill="currentColor" />
    </svg>
    <span>{text}</span>
  </span>
);
