import { useState } from 'react';
import { Button } from '../ui/button.tsx';
import { FieldMessages } from './field-messages.tsx';
import styles from './form.module.css';
import { type FieldProps, fieldId } from './form-context.ts';
import { sameJson } from './json.ts';
import { mapOf, type Row, repeatedNames, rowsOf } from './rows.ts';

/** Whether a row is the first one with its name, so that an error of this name can link to it. */
const isFirst = (rows: readonly Row[], index: number) =>
  rows[index]?.[0] !== '' && rows.findIndex(([name]) => name === rows[index]?.[0]) === index;

/** Names with texts, such as labels. */
export function MapInput({ field, path, value, onChange }: FieldProps) {
  const [typed, setTyped] = useState(() => rowsOf(value));
  const rows = sameJson(mapOf(typed), value) ? typed : rowsOf(value);
  const change = (next: readonly Row[]) => {
    setTyped(next);
    onChange(mapOf(next));
  };
  const repeated = repeatedNames(rows);
  const id = fieldId(path);
  return (
    <fieldset id={id} tabIndex={-1} className={styles['list']} aria-describedby={`${id}-help ${id}-errors`}>
      <legend>{field.name}</legend>
      {rows.map(([name, text], index) => (
        // Rows have no identity besides their place.
        // biome-ignore lint/suspicious/noArrayIndexKey: names change while they are typed.
        <div key={index} className={styles['row']}>
          <input
            aria-label={`${field.name}: name ${index + 1}`}
            value={name}
            autoComplete="off"
            onChange={({ target }) => change(rows.with(index, [target.value, text]))}
          />
          <input
            {...(isFirst(rows, index) ? { id: fieldId([...path, name]) } : {})}
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
      <FieldMessages
        id={`${id}-errors`}
        path={path}
        problem={repeated.length === 0 ? null : `several rows have the same name: ${repeated.join(', ')}`}
      />
      <p id={`${id}-help`} className={styles['help']}>
        {field.description}
      </p>
    </fieldset>
  );
}
