import { useEffect, useId, useRef, useState } from 'react';
import styles from './fields.module.css';

/** Fields of filters, whose values are kept in the URL. */

interface FilterProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

const TYPING_MS = 300;

/** A text that filters a moment after the last key. */
export function TextFilter({
  label,
  value,
  onChange,
  type = 'text',
}: FilterProps & { readonly type?: 'text' | 'search' | 'datetime-local' }) {
  const id = useId();
  const [text, setText] = useState(value);
  const sent = useRef(value);
  // A page that renders often, such as a log, must not restart the timer.
  const latest = useRef(onChange);
  useEffect(() => {
    latest.current = onChange;
  });
  useEffect(() => {
    // The URL has changed by other means, such as the back button.
    if (value !== sent.current) {
      sent.current = value;
      setText(value);
    }
  }, [value]);
  useEffect(() => {
    if (text === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = text;
      latest.current(text);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div className={styles['field']}>
      <label htmlFor={id}>{label}</label>
      <input id={id} type={type} value={text} onChange={({ target }) => setText(target.value)} />
    </div>
  );
}

export function ChoiceFilter({
  label,
  value,
  onChange,
  choices,
}: FilterProps & { readonly choices: readonly (readonly [value: string, label: string])[] }) {
  const id = useId();
  return (
    <div className={styles['field']}>
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={({ target }) => onChange(target.value)}>
        <option value="">All</option>
        {choices.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}
