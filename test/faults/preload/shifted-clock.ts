/**
 * Loaded by `node --import` before a role: its wall clock goes wrong by FAULTS_CLOCK_SHIFT_MS. Only Date is another; the
 * monotonic clock, and with it timers, go on as they do.
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
