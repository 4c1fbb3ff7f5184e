import { useEffect } from 'react';

/** What a reload of the page would lose: open dialogs, and forms with something typed. */

let held = 0;

/** Whether a reload would lose something. */
export const isHeld = (): boolean => held > 0;

/** Marks the page while something is open or typed. */
export function useHold(isNeeded: boolean): void {
  useEffect(() => {
    if (!isNeeded) return;
    held += 1;
    return () => {
      held -= 1;
    };
  }, [isNeeded]);
}
