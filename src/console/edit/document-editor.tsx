import { useId, useMemo } from 'react';
import type { FieldError } from '../api/problem.ts';
import styles from '../change/change.module.css';
import form from '../form/form.module.css';
import { FormContext, type FormSettings } from '../form/form-context.ts';
import { FormField, StructFields } from '../form/form-field.tsx';
import { isObject, type JsonObject, pathText, valueAt, withValueAt } from '../form/json.ts';
import { type Field, fieldAt, withoutFields } from '../form/schema.ts';
import { Button } from '../ui/button.tsx';
import { type Draft, documentOfDraft, draftOf, readDraft } from './draft.ts';
import { groupsOf } from './groups.ts';
import { SecretsInput, type StoredSecrets } from './secrets-input.tsx';

interface DocumentEditorProps {
  readonly field: Field;
  readonly draft: Draft;
  readonly onChange: (draft: Draft) => void;
  readonly errors: readonly FieldError[];
  readonly hintOf: FormSettings['hintOf'];
  readonly stored: StoredSecrets;
  /** Paths of the fields that are shown first. */
  readonly lead: readonly (readonly string[])[];
}

function YamlEditor({
  text,
  onChange,
}: {
  readonly text: string;
  readonly onChange: (text: string) => void;
}) {
  const id = useId();
  const read = readDraft({ kind: 'yaml', text });
  const errors = 'errors' in read ? read.errors : [];
  return (
    <div className={form['fields']}>
      <label htmlFor={id}>YAML</label>
      <textarea
        id={id}
        className={form['yaml']}
        value={text}
        spellCheck={false}
        aria-invalid={errors.length > 0 || undefined}
        aria-describedby={`${id}-errors`}
        onChange={({ target }) => onChange(target.value)}
      />
      <p id={`${id}-errors`} role="status" className={form['error']}>
        {errors.map(({ line, message }) => `${line === null ? '' : `Line ${line}: `}${message}`).join('; ')}
      </p>
    </div>
  );
}

/** The form: first the fields that most people need. */
function FieldsForm(
  props: Pick<DocumentEditorProps, 'field' | 'lead' | 'onChange'> & { document: JsonObject },
) {
  const { field, lead, onChange, document } = props;
  const rest = useMemo(() => withoutFields(field, lead), [field, lead]);
  const change = (next: JsonObject) => onChange({ kind: 'form', document: next });
  return (
    <div className={form['fields']}>
      {lead.map((path) => {
        const each = fieldAt(field, path);
        return (
          each && (
            <FormField
              key={pathText(path)}
              field={each}
              path={path}
              value={valueAt(document, path)}
              onChange={(next) => change(withValueAt(document, path, next))}
            />
          )
        );
      })}
      <StructFields
        fields={rest.kind.kind === 'struct' ? rest.kind.fields : []}
        path={[]}
        value={document}
        onChange={(next) => change(isObject(next) ? next : {})}
      />
    </div>
  );
}

/** Edits a document in a form or as YAML. Both are the same document. */
export function DocumentEditor(props: DocumentEditorProps) {
  const { field, draft, onChange, errors, hintOf, stored, lead } = props;
  const document = documentOfDraft(draft);
  const settings = useMemo<FormSettings>(
    () => ({
      errors,
      hintOf,
      groupsOf,
      inputOf: (each) =>
        pathText(each.path) === 'secrets' ? <SecretsInput {...each} stored={stored} /> : null,
    }),
    [errors, hintOf, stored],
  );
  const show = (kind: Draft['kind']) => {
    if (document !== null && kind !== draft.kind) onChange(draftOf(document, kind));
  };
  return (
    <div className={styles['section']}>
      <fieldset className={form['modes']} aria-label="Edit as">
        {(['form', 'yaml'] as const).map((kind) => (
          <Button key={kind} aria-pressed={draft.kind === kind} onClick={() => show(kind)}>
            {kind === 'form' ? 'Form' : 'YAML'}
          </Button>
        ))}
      </fieldset>
      {draft.kind === 'yaml' && (
        <YamlEditor text={draft.text} onChange={(text) => onChange({ kind: 'yaml', text })} />
      )}
      {draft.kind === 'form' && (
        <FormContext value={settings}>
          <FieldsForm field={field} lead={lead} onChange={onChange} document={draft.document} />
        </FormContext>
      )}
    </div>
  );
}
