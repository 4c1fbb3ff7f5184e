import { Dialog as Base } from '@base-ui/react/dialog';
import type { ReactNode } from 'react';
import styles from './ui.module.css';

interface DialogProps {
  readonly title: string;
  readonly isOpen: boolean;
  /** Absent: the dialog cannot be closed. */
  readonly onClose?: () => void;
  readonly children: ReactNode;
}

/** A modal dialog. The focus stays in it, and returns to where it was. */
export function Dialog({ title, isOpen, onClose, children }: DialogProps) {
  return (
    <Base.Root
      open={isOpen}
      onOpenChange={(open) => {
        if (!open) onClose?.();
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
