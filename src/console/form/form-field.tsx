import { type ReactNode, useState } from 'react';
import { Button } from '../ui/button.tsx';
import { errorsAt, errorsWithin } from './field-errors.ts';
import styles from './form.module.css';
import { type FieldProps, fieldId, useFormSettings } from './form-context.ts';
import { BooleanInput, ChoiceInput, FreeInput, LinesInput, NumberInput, TextInput } from './inputs.tsx';
import { isObject, type Json, type JsonObject, type Path, withItem, withMember } from './json.ts';
import { MapInput } from './map-input.tsx';
import type { Field } from './schema.ts';

/** The form of a schema. */

interface DisclosureProps {
  readonly title: string;
  readonly path: Path;
  /** Id of the heading; absent: it is the heading of a group, to which no error belongs. */
  readonly id?: string;
  readonly description?: string | null;
  readonly isOpenAtFirst?: boolean;
  /** What is set within. */
  readonly count: number;
  readonly children: ReactNode;
}

/** A part that can be opened. It opens when it has an error. What was opened once stays, so that nothing typed is lost. */
function Disclosure(props: DisclosureProps) {
  const { title, path, id, description, isOpenAtFirst = false, count, children } = props;
  const { errors } = useFormSettings();
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const [wasOpen, setWasOpen] = useState(isOpenAtFirst);
  const within = errorsWithin(errors, path);
  const [shownErrors, setShownErrors] = useState<unknown>(null);
  if (errors !== shownErrors) {
    setShownErrors(errors);
    if (within.length > 0) setOpen(true);
  }
  if (isOpen && !wasOpen) setWasOpen(true);
  return (
    <details
      className={styles['part']}
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary id={id}>
        {title}
        {count > 0 && <span className={styles['count']}> ({count} set)</span>}
      </summary>
      {wasOpen && (
        <div className={styles['fields']}>
          {description != null && <p className={styles['help']}>{description}</p>}
          {errorsAt(errors, path).map(({ message }) => (
            <p key={message} className={styles['error']}>
              {message}
            </p>
          ))}
          {children}
        </div>
      )}
    </details>
  );
}

interface MembersProps {
  readonly fields: readonly Field[];
  readonly path: Path;
  readonly value: JsonObject;
  readonly onChange: (value: Json | undefined) => void;
}

/** An object without members counts as not set. */
const orAbsent = (value: JsonObject): Json | undefined =>
  Object.keys(value).length === 0 ? undefined : value;

const Members = ({ fields, path, value, onChange }: MembersProps) =>
  fields.map((field) => (
    <FormField
      key={field.name}
      field={field}
      path={[...path, field.name]}
      value={value[field.name]}
      onChange={(next) => onChange(orAbsent(withMember(value, field.name, next)))}
    />
  ));

const countOf = (value: JsonObject, fields: readonly Field[]) =>
  fields.filter(({ name }) => value[name] !== undefined).length;

/** The members of an object, in their groups. */
export function StructFields(props: MembersProps) {
  const { fields, path, value } = props;
  const groups = useFormSettings().groupsOf(path, fields);
  if (groups === null) return <Members {...props} />;
  return groups.map(({ title, fields: each }, index) => (
    <Disclosure
      key={title}
      title={title}
      path={path}
      isOpenAtFirst={index === 0}
      count={countOf(value, each)}
    >
      <Members {...props} fields={each} />
    </Disclosure>
  ));
}

function StructInput({ field, path, value, onChange }: FieldProps) {
  const fields = field.kind.kind === 'struct' ? field.kind.fields : [];
  const object = isObject(value) ? value : {};
  return (
    <Disclosure
      title={field.name}
      path={path}
      id={fieldId(path)}
      description={field.description}
      count={Object.keys(object).length}
    >
      <StructFields fields={fields} path={path} value={object} onChange={onChange} />
    </Disclosure>
  );
}

/** The number of an entry of a list, and its name if it has one. */
const EntryTitle = ({ item, index }: { readonly item: Json; readonly index: number }) => (
  <>
    {index + 1} {isObject(item) && typeof item['name'] === 'string' && <bdi>{item['name']}</bdi>}
  </>
);

function ItemsInput({ field, path, value, onChange }: FieldProps) {
  const item = field.kind.kind === 'items' ? field.kind.item : null;
  const fields = item?.kind.kind === 'struct' ? item.kind.fields : [];
  const items = Array.isArray(value) ? (value as readonly Json[]) : [];
  return (
    <Disclosure
      title={field.name}
      path={path}
      id={fieldId(path)}
      description={field.description}
      count={items.length}
    >
      {items.map((each, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: entries have no identity besides their place.
        <fieldset key={index} id={fieldId([...path, index])} tabIndex={-1} className={styles['list']}>
          <legend>
            {field.name} <EntryTitle item={each} index={index} />
          </legend>
          <StructFields
            fields={fields}
            path={[...path, index]}
            value={isObject(each) ? each : {}}
            onChange={(next) => onChange(withItem(items, index, next ?? {}))}
          />
          <p>
            <Button
              onClick={() => {
                const rest = withItem(items, index, undefined);
                onChange(rest.length === 0 ? undefined : rest);
              }}
            >
              Remove {field.name} <EntryTitle item={each} index={index} />
            </Button>
          </p>
        </fieldset>
      ))}
      <p>
        <Button onClick={() => onChange([...items, {}])}>Add to {field.name}</Button>
      </p>
    </Disclosure>
  );
}

/** Whether the input of the kind can show the value. YAML may contain any other. */
function fits({ kind }: Field, value: Json | undefined): boolean {
  if (value === undefined) return true;
  switch (kind.kind) {
    case 'struct':
      return isObject(value);
    case 'map':
      return isObject(value) && Object.values(value).every((each) => typeof each === 'string');
    case 'items':
      return Array.isArray(value) && value.every(isObject);
    case 'texts':
      return Array.isArray(value) && value.every((each) => typeof each === 'string' && isOneLine(each));
    case 'free':
      return true;
    default:
      return typeof value !== 'object';
  }
}

const isOneLine = (text: string) => text.trim() !== '' && !text.includes('\n');

const INPUTS = {
  number: NumberInput,
  text: TextInput,
  choice: ChoiceInput,
  boolean: BooleanInput,
  texts: LinesInput,
  map: MapInput,
  struct: StructInput,
  items: ItemsInput,
  free: FreeInput,
} as const;

/** The input of a field. */
export function FormField(props: FieldProps) {
  const own = useFormSettings().inputOf(props);
  if (own !== null) return own;
  const Input = fits(props.field, props.value) ? INPUTS[props.field.kind.kind] : FreeInput;
  return <Input {...props} />;
}
