import { useBlocker } from '@tanstack/react-router';
import { useRef } from 'react';
import styles from '../change/change.module.css';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { useHold } from '../ui/late/unsaved.ts';

/** Asks before a navigation would lose what was typed. */

interface LeaveGuard {
  /** Allows the next navigation, because what was typed was applied. */
  readonly allow: () => void;
  readonly dialog: React.ReactNode;
}

export function useLeaveGuard(isDirty: boolean): LeaveGuard {
  const isAllowed = useRef(false);
  useHold(isDirty);
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => isDirty && !isAllowed.current && current.pathname !== next.pathname,
    enableBeforeUnload: () => isDirty && !isAllowed.current,
    withResolver: true,
  });
  return {
    allow: () => {
      isAllowed.current = true;
    },
    dialog: blocker.status === 'blocked' && (
      <Dialog title="Leave without applying?" isOpen onClose={blocker.reset}>
        <p>What you have typed is lost when you leave this page.</p>
        <p className={styles['buttons']}>
          <Button onClick={blocker.reset}>Stay</Button>
          <Button variant="danger" onClick={blocker.proceed}>
            Leave
          </Button>
        </p>
      </Dialog>
    ),
  };
}
