import type { Schedule } from '../../domain/schedules/schedules.ts';
import type { ScheduleSpec } from '../resource/schedule-spec.ts';
import { literalArgument } from './literal-argument.ts';

/** The schedules of source_config in the custom resource. Unset fields are absent there too. */
export function schedulesSpec(schedules: readonly Schedule[] = []): { schedules?: ScheduleSpec[] } {
  return schedules.length === 0 ? {} : { schedules: schedules.map(scheduleSpec) };
}

function scheduleSpec(schedule: Schedule): ScheduleSpec {
  const { time_zone: timeZone, timeout_seconds: timeoutSeconds, command, ...same } = schedule;
  return {
    ...same,
    ...(timeZone === undefined ? {} : { timeZone }),
    command: command.map(literalArgument),
    ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
  };
}
