import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { TASK_COMPONENTS } from '../api/components.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { useDeployment } from '../deployment/deployment-context.ts';
import { revisionsQuery } from '../deployment/queries.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { ChoiceField } from '../ui/fields/choice-field.tsx';
import fields from '../ui/fields/fields.module.css';
import { TextField } from '../ui/fields/text-field.tsx';
import { runTask } from './queries.ts';
import {
  commandOf,
  EMPTY_FORM,
  requestOf,
  revisionChoices,
  runCommand,
  type TaskForm,
} from './task-request.ts';
import { useTaskAction } from './use-task-action.ts';

/** The program and arguments that will run, so that people see the effect of quotes. */
function Words({ form }: { readonly form: TaskForm }) {
  const command = commandOf(form);
  if (command === null) return <p role="status">The command ends inside of a quote or after a backslash.</p>;
  return (
    <p role="status">
      {command.length === 0 ? 'No command yet.' : 'Runs: '}
      {command.map((word, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: words have no identity besides their place.
        <span key={index}>
          <code>{word}</code>{' '}
        </span>
      ))}
    </p>
  );
}

interface FormFieldsProps {
  readonly form: TaskForm;
  readonly onChange: (changes: Partial<TaskForm>) => void;
}

function FormFields({ form, onChange }: FormFieldsProps) {
  const { deployment } = useDeployment();
  const { data } = useInfiniteQuery(revisionsQuery(useTenantApi(), deployment.id));
  const revisions = data?.pages.flatMap(({ revisions }) => revisions) ?? [];
  const componentOf = (text: string) => TASK_COMPONENTS.find((each) => each === text) ?? '';
  return (
    <>
      <TextField
        label="Command"
        hint="Program and arguments. Quotes group words. Do not type passwords: everyone who can read the deployment sees the command."
        value={form.line}
        onChange={(line) => onChange({ line })}
        required
      />
      <p className={fields['choices']}>
        <label>
          <input
            type="checkbox"
            checked={form.usesShell}
            onChange={({ target }) => onChange({ usesShell: target.checked })}
          />{' '}
          Run it with sh -c, so that a shell of the image expands variables and pipes
        </label>
      </p>
      <Words form={form} />
      <ChoiceField
        label="Component"
        choices={[['', 'api (default)'], ...TASK_COMPONENTS.slice(1).map((each) => [each, each] as const)]}
        value={form.component}
        onChange={(text) => onChange({ component: componentOf(text) })}
      />
      <ChoiceField
        label="Revision"
        choices={revisionChoices(revisions)}
        value={form.revision}
        onChange={(revision) => onChange({ revision })}
      />
      <TextField
        label="Timeout in seconds"
        hint="Default: 3600"
        type="number"
        min={1}
        max={86_400}
        value={form.timeout}
        onChange={(timeout) => onChange({ timeout })}
      />
    </>
  );
}

/** The body of the request; null: the form has none. */
function bodyOf(form: TaskForm) {
  try {
    return requestOf(form);
  } catch {
    return null;
  }
}

const newKey = () => crypto.randomUUID();

/** Runs a command once in a new pod, and opens its task. */
export function RunCommand() {
  const { id, name } = useDeployment().deployment;
  const api = useTenantApi();
  const [form, setForm] = useState(EMPTY_FORM);
  // The same request again must not run the command twice. Another one is another task.
  const [key, setKey] = useState(newKey);
  const change = (changes: Partial<TaskForm>) => {
    setForm((before) => ({ ...before, ...changes }));
    setKey(newKey());
  };
  const run = useTaskAction(id, () => runTask(api, id, requestOf(form), key));
  const body = bodyOf(form);
  return (
    <ActionDialog
      opens="Run a command"
      title="Run a command"
      acts="Run"
      action={run}
      onClose={() => {
        setForm(EMPTY_FORM);
        setKey(newKey());
      }}
      command={
        body !== null && (
          <ShowCommand
            title="Run this command"
            request={{ method: 'POST', path: `/v2/deployments/${id}/tasks`, tenantId: api.tenantId, body }}
            berth={runCommand(name, body)}
          />
        )
      }
    >
      <p>
        The command runs once, in a new pod with image, environment and secrets of the deployment. It can read
        all secrets of the deployment. Pods that serve are not touched.
      </p>
      <FormFields form={form} onChange={change} />
    </ActionDialog>
  );
}
