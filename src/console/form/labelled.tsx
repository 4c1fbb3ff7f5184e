import type { ReactNode } from 'react';
import { errorsWithin } from './field-errors.ts';
import { FieldMessages } from './field-messages.tsx';
import styles from './form.module.css';
import { type FieldProps, fieldId, useFormSettings } from './form-context.ts';
import { helpText } from './help.ts';

/** A field with its label, help, limits and errors. */

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
  const isInvalid = problem !== null || errorsWithin(errors, path).length > 0;
  const id = fieldId(path);
  const help = helpText(field, hintOf(path));
  return (
    <div className={styles['field']}>
      <label htmlFor={id}>
        {field.name}
        {field.isRequired && ' (required)'}
      </label>
      {children({
        id,
        'aria-describedby': `${id}-help ${id}-errors`,
        ...(isInvalid ? { 'aria-invalid': true as const } : {}),
      })}
      <FieldMessages id={`${id}-errors`} path={path} problem={problem} />
      <p id={`${id}-help`} className={styles['help']}>
        {help}
      </p>
    </div>
  );
}
