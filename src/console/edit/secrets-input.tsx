import { useMutation } from '@tanstack/react-query';
import styles from '../change/change.module.css';
import { MASK } from '../change/masked.ts';
import { FieldMessages } from '../form/field-messages.tsx';
import form from '../form/form.module.css';
import { type FieldProps, fieldId } from '../form/form-context.ts';
import { isObject, type Json } from '../form/json.ts';
import { Button } from '../ui/button.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';

/** Secrets by name. Their values can be replaced, and are only shown to someone who may see them and asks. */

type SecretRow = {
  readonly name: string;
  readonly value: string;
};

const rowsOf = (value: Json | undefined): readonly SecretRow[] =>
  (Array.isArray(value) ? (value as readonly Json[]) : []).map((each) => ({
    name: String((isObject(each) ? each['name'] : each) ?? ''),
    value: String((isObject(each) ? each['value'] : undefined) ?? ''),
  }));

interface RowProps {
  /** Id of the row, to which errors can link. Its inputs have ids below it. */
  readonly id: string;
  readonly row: SecretRow;
  readonly number: number;
  readonly isStored: boolean;
  /** The stored value; undefined: not shown. */
  readonly shown: string | undefined;
  /** null removes the secret. */
  readonly onChange: (row: SecretRow | null) => void;
}

function StoredValue({ row, shown, onChange }: Pick<RowProps, 'row' | 'shown' | 'onChange'>) {
  return (
    <>
      <span className={styles['value']}>
        <strong>
          <bdi>{row.name}</bdi>
        </strong>
        : {shown === undefined ? 'a value is stored' : <code>{shown}</code>}
      </span>
      <Button onClick={() => onChange({ ...row, value: '' })}>
        Replace the value of <bdi>{row.name}</bdi>
      </Button>
    </>
  );
}

function NewValue({ id, row, number, isStored, onChange }: RowProps) {
  return (
    <>
      <input
        id={`${id}.name`}
        aria-label={`Name of secret ${number}`}
        value={row.name}
        autoComplete="off"
        onChange={({ target }) => onChange({ ...row, name: target.value })}
      />
      <textarea
        id={`${id}.value`}
        aria-label={`Value of secret ${row.name || number}`}
        rows={row.value.includes('\n') ? 4 : 1}
        value={row.value}
        spellCheck={false}
        autoComplete="off"
        onChange={({ target }) => onChange({ ...row, value: target.value })}
      />
      {isStored && (
        <Button onClick={() => onChange({ ...row, value: MASK })}>
          Keep the stored value of <bdi>{row.name}</bdi>
        </Button>
      )}
    </>
  );
}

export interface StoredSecrets {
  readonly names: ReadonlySet<string>;
  /** Requests the values; null: the session may not see them. */
  readonly reveal: (() => Promise<ReadonlyMap<string, string>>) | null;
}

interface SecretsInputProps extends FieldProps {
  readonly stored: StoredSecrets;
}

export function SecretsInput({ field, path, value, onChange, stored }: SecretsInputProps) {
  const reveal = useMutation({ mutationFn: async () => stored.reveal?.() ?? null });
  const rows = rowsOf(value);
  const change = (index: number, row: SecretRow | null) =>
    onChange(row === null ? rows.toSpliced(index, 1) : rows.with(index, row));
  const id = fieldId(path);
  return (
    <fieldset id={id} tabIndex={-1} className={form['list']} aria-describedby={`${id}-help ${id}-errors`}>
      <legend>{field.name}</legend>
      {rows.map((row, index) => {
        const isStored = stored.names.has(row.name);
        const isKept = isStored && row.value === MASK;
        const props = {
          id: fieldId([...path, index]),
          row,
          number: index + 1,
          isStored,
          shown: reveal.data?.get(row.name),
          onChange: (next: SecretRow | null) => change(index, next),
        };
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: names change while they are typed.
          <div key={index} id={props.id} tabIndex={-1} className={form['row']}>
            {isKept ? <StoredValue {...props} /> : <NewValue {...props} />}
            <Button onClick={() => change(index, null)}>
              Remove <bdi>{row.name || `secret ${index + 1}`}</bdi>
            </Button>
          </div>
        );
      })}
      <p className={styles['buttons']}>
        <Button onClick={() => onChange([...rows, { name: '', value: '' }])}>Add a secret</Button>
        {stored.reveal !== null && stored.names.size > 0 && (
          <Button
            onClick={() => (reveal.data == null ? reveal.mutate() : reveal.reset())}
            isBusy={reveal.isPending}
          >
            {reveal.data == null ? 'Show values' : 'Hide values'}
          </Button>
        )}
      </p>
      {reveal.error !== null && <ProblemNotice error={reveal.error} />}
      <FieldMessages id={`${id}-errors`} path={path} />
      <p id={`${id}-help`} className={form['help']}>
        {field.description} Values cannot be read afterwards without the scope secrets:read.
      </p>
    </fieldset>
  );
}
