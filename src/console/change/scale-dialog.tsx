import { useId, useState } from 'react';
import { Problem } from '../api/problem.ts';
import type { Deployment } from '../api/types.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { sameJson } from '../form/json.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import styles from './change.module.css';
import { changeCommand } from './commands.ts';
import { PlannedChange } from './planned-change.tsx';
import { type ScaleField, type ScaleTexts, scalePatch, scalesOf } from './scale.ts';
import { useChange, useFollow } from './use-change.ts';

interface NumberFieldProps {
  readonly label: string;
  readonly value: string;
  readonly error: string | undefined;
  readonly onChange: (text: string) => void;
}

function NumberField({ label, value, error, onChange }: NumberFieldProps) {
  const id = useId();
  return (
    <div>
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        inputMode="numeric"
        value={value}
        aria-invalid={error !== undefined || undefined}
        aria-describedby={`${id}-error`}
        onChange={({ target }) => onChange(target.value)}
      />
      <p id={`${id}-error`}>{error}</p>
    </div>
  );
}

interface ScaleDialogProps {
  readonly deployment: Deployment;
  readonly onClose: () => void;
}

/** Changes the numbers of pods, with a plan first. */
export function ScaleDialog({ deployment, onClose }: ScaleDialogProps) {
  const [texts, setTexts] = useState<ScaleTexts>({});
  const follow = useFollow();
  const { plan, apply, error, requestPlan } = useChange((changed) => {
    onClose();
    void follow(changed);
  });
  const patch = scalePatch(deployment, texts);
  const planned = plan.data;
  const isPlanned =
    planned !== undefined &&
    planned.deployment.generation === deployment.generation &&
    sameJson(planned.patch, patch);
  const errors = error instanceof Problem ? error.fields : [];
  const field = (name: ScaleField, current: string) => ({
    value: texts[name] ?? current,
    error: errors.find(({ path }) => path.at(-1) === name)?.message,
    onChange: (text: string) => setTexts({ ...texts, [name]: text }),
  });
  return (
    <Dialog title="Scale this deployment" isOpen onClose={onClose}>
      {scalesOf(deployment).map(({ component, min, max, current }) => (
        <div key={component} className={styles['scales']}>
          <NumberField label={`Minimum of ${component}`} {...field(min, current.min)} />
          <NumberField label={`Maximum of ${component}`} {...field(max, current.max)} />
        </div>
      ))}
      <p>If all maximums are 0, the deployment is switched off and keeps its data.</p>
      {error !== null && <ProblemNotice error={error} />}
      <div className={styles['buttons']}>
        <Button
          variant={isPlanned ? 'plain' : 'primary'}
          isBusy={plan.isPending}
          disabled={Object.keys(patch).length === 0}
          onClick={() => requestPlan({ deployment, patch })}
        >
          Plan
        </Button>
        {Object.keys(patch).length > 0 && (
          <ShowCommand title="Scale this deployment" {...changeCommand(deployment, patch)} />
        )}
      </div>
      {isPlanned && <PlannedChange planned={planned} apply={apply} />}
    </Dialog>
  );
}
