import { useId } from 'react';
import styles from './fields.module.css';

export type Choices = readonly (readonly [value: string, label: string])[];

/** Choices whose values are their labels. */
export const sameLabels = (values: readonly string[]): Choices => values.map((value) => [value, value]);

interface ChoiceFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly choices: Choices;
}

/** A field of a form with one value of several. */
export function ChoiceField({ label, value, onChange, choices }: ChoiceFieldProps) {
  const id = useId();
  return (
    <div className={styles['field']}>
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={({ target }) => onChange(target.value)}>
        {choices.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}
