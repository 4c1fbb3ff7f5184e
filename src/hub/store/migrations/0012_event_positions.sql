-- The order in which followers of the history read events (docs/decisions/0080-follow-events-by-position.md).
CREATE SEQUENCE "event_positions" AS bigint;--> statement-breakpoint
-- The first value is not used. From now on, `last_value` is the newest position, also while no event has one.
SELECT nextval('event_positions');--> statement-breakpoint
-- The position of a new event. Before a transaction takes its first position, it announces with a shared advisory lock
-- that it can commit events above the newest position of this moment. The lock ends with the transaction.
CREATE FUNCTION berth_event_position() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  newest bigint;
BEGIN
  IF coalesce(current_setting('berth.event_floor', true), '') = '' THEN
    SELECT last_value INTO newest FROM event_positions;
    -- The second number is the lower half of the position, as a signed number.
    PERFORM pg_advisory_xact_lock_shared(23785, ((newest << 32) >> 32)::int);
    PERFORM set_config('berth.event_floor', newest::text, true);
  END IF;
  RETURN nextval('event_positions');
END
$$;--> statement-breakpoint
-- newest: the newest position. settled: no open transaction can still commit an event at this position or below. The
-- newest position must be read before the locks, and events in a later statement: then a transaction that announces
-- itself after the locks were read gets higher positions, and the events of a transaction whose lock is gone are visible.
CREATE FUNCTION berth_event_horizon(OUT newest bigint, OUT settled bigint) LANGUAGE plpgsql AS $$
BEGIN
  SELECT last_value INTO newest FROM event_positions;
  SELECT least(newest, min(newest - (((newest - objid::bigint) << 32) >> 32))) INTO settled
  FROM pg_locks
  WHERE locktype = 'advisory' AND classid = 23785 AND objsubid = 2
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database());
END
$$;--> statement-breakpoint
-- Events of earlier versions get position 0, because a constant does not rewrite the table.
ALTER TABLE "events" ADD COLUMN "position" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "events" ALTER COLUMN "position" SET DEFAULT berth_event_position();--> statement-breakpoint
CREATE INDEX "events_by_position" ON "events" USING btree ("position","id");--> statement-breakpoint
CREATE INDEX "events_by_tenant_position" ON "events" USING btree ("tenant_id","position","id");--> statement-breakpoint
CREATE INDEX "events_by_tenant_reason" ON "events" USING btree ("tenant_id","reason","id");--> statement-breakpoint
CREATE INDEX "events_by_tenant_reason_position" ON "events" USING btree ("tenant_id","reason","position","id");
