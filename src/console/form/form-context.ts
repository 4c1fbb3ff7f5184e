import { createContext, type ReactNode, useContext } from 'react';
import type { FieldError } from '../api/problem.ts';
import type { Json, Path } from './json.ts';
import type { Field } from './schema.ts';

/** What the fields of a form know besides their values. */

export interface Hint {
  /** The value that is used if the field is not set. */
  readonly fallback?: Json;
  /** The largest number that the policy allows. */
  readonly maximum?: number;
}

/** A field with its value. */
export interface FieldProps {
  readonly field: Field;
  readonly path: Path;
  /** undefined: not set. */
  readonly value: Json | undefined;
  readonly onChange: (value: Json | undefined) => void;
}

export interface FieldGroup {
  readonly title: string;
  readonly fields: readonly Field[];
}

export interface FormSettings {
  readonly errors: readonly FieldError[];
  readonly hintOf: (path: Path) => Hint;
  /** The fields of an object in groups; null: in one list. */
  readonly groupsOf: (path: Path, fields: readonly Field[]) => readonly FieldGroup[] | null;
  /** An input of its own for a field; null: the input of its kind. */
  readonly inputOf: (props: FieldProps) => ReactNode | null;
}

export const FormContext = createContext<FormSettings>({
  errors: [],
  hintOf: () => ({}),
  groupsOf: () => null,
  inputOf: () => null,
});

export const useFormSettings = (): FormSettings => useContext(FormContext);

/** The id of the input of a field, to which errors can link. */
export const fieldId = (path: Path): string => `field-${path.join('.')}`;
