import { useEffect, useId, useRef, useState } from 'react';
import { ChoiceField, type Choices } from './choice-field.tsx';
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

/** A choice that filters. Without a choice, everything is shown. */
export const ChoiceFilter = ({ choices, ...props }: FilterProps & { readonly choices: Choices }) => (
  <ChoiceField {...props} choices={[['', 'All'], ...choices]} />
);
