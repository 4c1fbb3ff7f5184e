import type { ReactNode } from 'react';
import { errorsAt } from './field-errors.ts';
import styles from './form.module.css';
import { type FieldProps, fieldId, type Hint, useFormSettings } from './form-context.ts';
import type { Json } from './json.ts';
import type { Kind } from './schema.ts';

/** A field with its label, help, limits and errors. */

const valueText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** The range of a number. The policy may allow less than the schema. */
export function rangeText(kind: Kind, { maximum: policy }: Hint): string | null {
  if (kind.kind !== 'number') return null;
  const { minimum, maximum } = kind;
  if (policy !== undefined && (maximum === undefined || policy < maximum))
    return `${minimum ?? 0} to ${policy}, the maximum of the policy.`;
  return minimum === undefined || maximum === undefined ? null : `${minimum} to ${maximum}.`;
}

/** What a form says about a field. */
export function helpText(props: Pick<FieldProps, 'field' | 'value'>, hint: Hint): string {
  const { field, value } = props;
  const { fallback } = hint;
  const unset = fallback == null ? null : `Default: ${valueText(fallback)}.`;
  return [field.description, rangeText(field.kind, hint), value === undefined ? unset : null]
    .filter((text) => text !== null)
    .join(' ');
}

interface InputAttributes {
  readonly id: string;
  readonly 'aria-describedby': string;
  readonly 'aria-invalid'?: true;
}

interface LabelledProps extends FieldProps {
  /** An error that needs no request, such as a text instead of a number. */
  readonly problem?: string | null;
  readonly children: (attributes: InputAttributes) => ReactNode;
}

export function Labelled({ problem = null, children, ...props }: LabelledProps) {
  const { field, path } = props;
  const { errors, hintOf } = useFormSettings();
  const messages = [
    ...(problem === null ? [] : [problem]),
    ...errorsAt(errors, path).map(({ message }) => message),
  ];
  const id = fieldId(path);
  const help = helpText(props, hintOf(path));
  return (
    <div className={styles['field']}>
      <label htmlFor={id}>
        {field.name}
        {field.isRequired && ' (required)'}
      </label>
      {children({
        id,
        'aria-describedby': `${id}-help ${id}-errors`,
        ...(messages.length === 0 ? {} : { 'aria-invalid': true as const }),
      })}
      <p id={`${id}-errors`} className={styles['error']}>
        {messages.join('; ')}
      </p>
      <p id={`${id}-help`} className={styles['help']}>
        {help}
      </p>
    </div>
  );
}
