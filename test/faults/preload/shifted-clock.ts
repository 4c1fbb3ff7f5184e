/**
 * Loaded by `node --import` before a role. Shifts the wall clock by FAULTS_CLOCK_SHIFT_MS milliseconds. Only `Date` changes.
 * Timers use the monotonic clock, which stays correct.
 */
const shift = Number(process.env['FAULTS_CLOCK_SHIFT_MS'] ?? 0);
const RightDate = Date;

class ShiftedDate extends RightDate {
  constructor(...given: unknown[]) {
    super(...((given.length === 0 ? [RightDate.now() + shift] : given) as [number]));
  }

  static override now(): number {
    return RightDate.now() + shift;
  }
}

globalThis.Date = ShiftedDate as DateConstructor;
