import { Fragment } from 'react';
import { errorsWithin } from './field-errors.ts';
import styles from './form.module.css';
import { useFormSettings } from './form-context.ts';
import { type Path, pathText } from './json.ts';

interface FieldMessagesProps {
  /** To which the input refers. */
  readonly id: string;
  readonly path: Path;
  /** An error that needs no request. */
  readonly problem?: string | null;
}

/** What is wrong with the value of a field, and with everything within it, such as `0.name must not be empty`. */
export function FieldMessages({ id, path, problem = null }: FieldMessagesProps) {
  const { errors } = useFormSettings();
  const messages = [
    ...(problem === null ? [] : [{ where: '', message: problem }]),
    ...errorsWithin(errors, path).map((error) => ({
      where: pathText(error.path.slice(path.length)),
      message: error.message,
    })),
  ];
  return (
    <p id={id} className={styles['error']}>
      {messages.map(({ where, message }, index) => (
        <Fragment key={`${where} ${message}`}>
          {index > 0 && '; '}
          {where !== '' && (
            <>
              <bdi>{where}</bdi>{' '}
            </>
          )}
          <bdi>{message}</bdi>
        </Fragment>
      ))}
    </p>
  );
}
