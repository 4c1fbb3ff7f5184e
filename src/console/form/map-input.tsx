import { useState } from 'react';
import { Button } from '../ui/button.tsx';
import { errorsWithin } from './field-errors.ts';
import styles from './form.module.css';
import { type FieldProps, fieldId, useFormSettings } from './form-context.ts';
import { sameJson } from './json.ts';
import { mapOf, type Row, repeatedNames, rowsOf } from './rows.ts';

/** Names with texts, such as labels. */
export function MapInput({ field, path, value, onChange }: FieldProps) {
  const { errors } = useFormSettings();
  const [typed, setTyped] = useState(() => rowsOf(value));
  const rows = sameJson(mapOf(typed), value) ? typed : rowsOf(value);
  const change = (next: readonly Row[]) => {
    setTyped(next);
    onChange(mapOf(next));
  };
  const repeated = repeatedNames(rows);
  const messages = [
    ...repeated.map((name) => `${name} is there twice`),
    ...errorsWithin(errors, path).map(({ message }) => message),
  ];
  const id = fieldId(path);
  return (
    <fieldset className={styles['list']} aria-describedby={`${id}-help ${id}-errors`}>
      <legend>{field.name}</legend>
      {rows.map(([name, text], index) => (
        // Rows have no identity besides their place.
        // biome-ignore lint/suspicious/noArrayIndexKey: names change while they are typed.
        <div key={index} className={styles['row']}>
          <input
            {...(index === 0 ? { id } : {})}
            aria-label={`${field.name}: name ${index + 1}`}
            value={name}
            autoComplete="off"
            onChange={({ target }) => change(rows.with(index, [target.value, text]))}
          />
          <input
            aria-label={`${field.name}: value ${index + 1}`}
            value={text}
            autoComplete="off"
            onChange={({ target }) => change(rows.with(index, [name, target.value]))}
          />
          <Button
            aria-label={`Remove ${name || `row ${index + 1}`} of ${field.name}`}
            onClick={() => change(rows.toSpliced(index, 1))}
          >
            Remove
          </Button>
        </div>
      ))}
      <p>
        <Button onClick={() => change([...rows, ['', '']])}>Add to {field.name}</Button>
      </p>
      <p id={`${id}-errors`} className={styles['error']}>
        {messages.join('; ')}
      </p>
      <p id={`${id}-help`} className={styles['help']}>
        {field.description}
      </p>
    </fieldset>
  );
}
