import { useState } from 'react';
import type { FieldProps } from './form-context.ts';
import { type Json, sameJson } from './json.ts';
import { Labelled } from './labelled.tsx';
import { toYaml, valueOfYaml } from './yaml.ts';

/** Inputs of single values. What cannot be read as a value stays in the document as the typed text, so it is never lost. */

/**
 * The text of an input whose value has other spellings, such as `1.` for 1.
 * @param read the value of a text
 */
function useText(
  value: Json | undefined,
  show: (value: Json | undefined) => string,
  read: (text: string) => Json | undefined,
) {
  const [text, setText] = useState(() => show(value));
  if (sameJson(read(text), value)) return [text, setText] as const;
  // The value has changed by other means, such as YAML.
  const next = show(value);
  if (next !== text) setText(next);
  return [next, setText] as const;
}

const showNumber = (value: Json | undefined) => (value === undefined ? '' : String(value));

function readNumber(text: string): Json | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  const number = Number(trimmed);
  return Number.isFinite(number) ? number : text;
}

export function NumberInput(props: FieldProps) {
  const { field, value, onChange } = props;
  const [text, setText] = useText(value, showNumber, readNumber);
  const isInteger = field.kind.kind === 'number' && field.kind.isInteger;
  return (
    <Labelled {...props} problem={typeof value === 'string' ? 'must be a number' : null}>
      {(attributes) => (
        <input
          {...attributes}
          inputMode={isInteger ? 'numeric' : 'decimal'}
          value={text}
          onChange={({ target }) => {
            setText(target.value);
            onChange(readNumber(target.value));
          }}
        />
      )}
    </Labelled>
  );
}

export function TextInput(props: FieldProps) {
  const { field, value, onChange } = props;
  const isLong = field.kind.kind === 'text' && field.kind.isLong;
  const change = ({ target }: { readonly target: { readonly value: string } }) =>
    onChange(target.value === '' && !field.isRequired ? undefined : target.value);
  const text = showNumber(value);
  return (
    <Labelled {...props}>
      {(attributes) =>
        isLong || text.includes('\n') ? (
          <textarea {...attributes} rows={3} value={text} onChange={change} />
        ) : (
          <input {...attributes} value={text} onChange={change} autoComplete="off" />
        )
      }
    </Labelled>
  );
}

interface ChoiceProps extends FieldProps {
  readonly choices: readonly string[];
  /** The value of a choice. */
  readonly read: (choice: string) => Json;
}

function Choice({ choices, read, ...props }: ChoiceProps) {
  const { value, onChange } = props;
  const text = showNumber(value);
  const all = text === '' || choices.includes(text) ? choices : [...choices, text];
  return (
    <Labelled {...props}>
      {(attributes) => (
        <select
          {...attributes}
          value={text}
          onChange={({ target }) => onChange(target.value === '' ? undefined : read(target.value))}
        >
          <option value="">Not set</option>
          {all.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}

export function ChoiceInput(props: FieldProps) {
  const { kind } = props.field;
  return <Choice {...props} choices={kind.kind === 'choice' ? kind.choices : []} read={(choice) => choice} />;
}

const readBoolean = (choice: string): Json =>
  choice === 'true' ? true : choice === 'false' ? false : choice;

export const BooleanInput = (props: FieldProps) => (
  <Choice {...props} choices={['true', 'false']} read={readBoolean} />
);

const showLines = (value: Json | undefined) => (Array.isArray(value) ? value.join('\n') : '');

function readLines(text: string): Json | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.length === 0 ? undefined : lines;
}

/** A list of texts, one in each line. */
export function LinesInput(props: FieldProps) {
  const { value, onChange } = props;
  const [text, setText] = useText(value, showLines, readLines);
  return (
    <Labelled {...props} problem={null}>
      {(attributes) => (
        <textarea
          {...attributes}
          rows={Math.min(8, Math.max(2, text.split('\n').length))}
          placeholder="One in each line"
          value={text}
          onChange={({ target }) => {
            setText(target.value);
            onChange(readLines(target.value));
          }}
        />
      )}
    </Labelled>
  );
}

/** A text is what was typed and is not valid YAML. */
const showFree = (value: Json | undefined) =>
  value === undefined ? '' : typeof value === 'string' ? value : toYaml(value);

function readFree(text: string): Json | undefined {
  const read = valueOfYaml(text);
  return 'error' in read ? text : read.value;
}

/** Any other value, as YAML. */
export function FreeInput(props: FieldProps) {
  const { value, onChange } = props;
  const [text, setText] = useText(value, showFree, readFree);
  const read = valueOfYaml(text);
  return (
    <Labelled {...props} problem={'error' in read ? `is not YAML: ${read.error}` : null}>
      {(attributes) => (
        <textarea
          {...attributes}
          rows={Math.min(16, Math.max(3, text.split('\n').length))}
          placeholder="YAML"
          spellCheck={false}
          value={text}
          onChange={({ target }) => {
            setText(target.value);
            onChange(readFree(target.value));
          }}
        />
      )}
    </Labelled>
  );
}
