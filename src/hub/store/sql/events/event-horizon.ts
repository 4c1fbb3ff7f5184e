import { statement } from '../../core/statement.ts';

/**
 * The newest position, the position up to which no open transaction can still commit an event, and the time. The
 * function reads in an order that one SELECT would not guarantee (migration 0012). Events up to `settled` are visible to
 * later statements only.
 */
export const eventHorizonStatement = statement<object, { newest: number; settled: number; at: Date }>(
  'event_horizon',
  'SELECT newest, settled, clock_timestamp() AS at FROM berth_event_horizon()',
);
