import type { UseMutationResult } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useId, useState } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import styles from './fields/fields.module.css';
import { TextField } from './fields/text-field.tsx';
import { ProblemNotice } from './problem-notice.tsx';

/** The part of a mutation that a dialog needs. */
type Action = Pick<UseMutationResult<unknown, Error, void>, 'mutate' | 'isPending' | 'error' | 'reset'>;

interface ActionDialogProps {
  /** Text of the button that opens the dialog. */
  readonly opens: string;
  readonly title: string;
  /** Text of the button that acts. */
  readonly acts: string;
  readonly action: Action;
  /** Whether the action deletes something or takes rights away. */
  readonly isDanger?: boolean;
  /** Name of what the button acts on, for screen readers, if the page has several such buttons. */
  readonly of?: string;
  /** What loses data asks for its name first. */
  readonly confirms?: { readonly what: string; readonly name: string };
  /** Called when the dialog opens. What it says and does must not change while it is open. */
  readonly onOpen?: () => void;
  /** Called when the dialog closes, so that a form starts empty. */
  readonly onClose?: () => void;
  /**
   * Shown instead of the form after the action, such as a secret that is shown once. null: not yet. Absent: the dialog closes after the
   * action.
   */
  readonly result?: ReactNode;
  /** The `ShowCommand` of the action. */
  readonly command: ReactNode;
  /** What happens, and the fields of the action. */
  readonly children: ReactNode;
}

/** A button that opens a dialog, in which the user confirms an action or fills its form. */
export function ActionDialog(props: ActionDialogProps) {
  const { opens, title, acts, action, isDanger = false, of, confirms, result, command, children } = props;
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState('');
  const form = useId();
  const isConfirmed = confirms === undefined || typed.trim() === confirms.name.trim();
  const open = () => {
    props.onOpen?.();
    setOpen(true);
  };
  const close = () => {
    // The result of a running action could not be shown again.
    if (action.isPending) return;
    setOpen(false);
    setTyped('');
    action.reset();
    props.onClose?.();
  };
  function submit(event: FormEvent) {
    event.preventDefault();
    if (!action.isPending && isConfirmed)
      action.mutate(undefined, { onSuccess: () => result === undefined && close() });
  }
  return (
    <>
      <Button
        variant={isDanger ? 'danger' : 'plain'}
        onClick={open}
        aria-haspopup="dialog"
        {...(of === undefined ? {} : { 'aria-label': `${opens} ${of}` })}
      >
        {opens}
      </Button>
      <Dialog title={title} isOpen={isOpen} onClose={close} onlyByButton={result != null}>
        {result ?? (
          <>
            <form id={form} onSubmit={submit} className={styles['form']}>
              {children}
              {confirms !== undefined && (
                <TextField
                  label={`Type the name of ${confirms.what} to confirm`}
                  value={typed}
                  onChange={setTyped}
                />
              )}
            </form>
            {action.error !== null && <ProblemNotice error={action.error} />}
            <div className={styles['row']}>
              <Button
                type="submit"
                form={form}
                variant={isDanger ? 'danger' : 'primary'}
                isBusy={action.isPending}
                disabled={!isConfirmed}
              >
                {acts}
              </Button>
              {command}
            </div>
          </>
        )}
      </Dialog>
    </>
  );
}
