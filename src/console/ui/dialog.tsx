import { Dialog as Base } from '@base-ui/react/dialog';
import { type ReactNode, useEffect } from 'react';
import { useHold } from './late/unsaved.ts';
import styles from './ui.module.css';

interface DialogProps {
  readonly title: string;
  readonly isOpen: boolean;
  /** Absent: the dialog cannot be closed. */
  readonly onClose?: () => void;
  /** The Escape key and a click beside the dialog do not close it, because what it shows cannot be shown again. */
  readonly onlyByButton?: boolean;
  readonly children: ReactNode;
}

/** Number of open dialogs that cannot be closed. */
let blocking = 0;

/** A modal dialog. The focus stays in it, and returns to where it was. */
export function Dialog({ title, isOpen, onClose, onlyByButton = false, children }: DialogProps) {
  useHold(isOpen);
  const isBlocking = isOpen && onClose === undefined;
  useEffect(() => {
    if (!isBlocking) return;
    blocking += 1;
    return () => {
      blocking -= 1;
    };
  }, [isBlocking]);
  return (
    <Base.Root
      open={isOpen}
      onOpenChange={(open, { reason }) => {
        // The Escape key reaches each dialog, also one that is behind a dialog that cannot be closed.
        const isMeant = blocking === 0 && (!onlyByButton || reason === 'close-press');
        if (!open && isMeant) onClose?.();
      }}
    >
      <Base.Portal>
        <Base.Backdrop className={styles['backdrop']} />
        <Base.Popup className={styles['dialog']}>
          <Base.Title className={styles['dialogTitle']}>{title}</Base.Title>
          {children}
          {onClose !== undefined && (
            <Base.Close className={`${styles['button']} ${styles['plain']} ${styles['close']}`}>
              Close
            </Base.Close>
          )}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
