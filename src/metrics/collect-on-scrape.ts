import { type CollectFunction, Counter, Gauge, type Registry } from 'prom-client';

/** Metrics that are computed on scrape instead of updated on events. */

/** One value with its labels. */
export interface Sample<Label extends string> {
  readonly labels: Readonly<Record<Label, string>>;
  readonly value: number;
}

interface ReadMetric<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly Label[];
  readonly registry: Registry;
  /** Reads the value. If the call throws, the value is unknown and is not exported. */
  readonly read: () => readonly Sample<Label>[] | Promise<readonly Sample<Label>[]>;
}

async function samplesOf<Label extends string>({
  read,
}: ReadMetric<Label>): Promise<readonly Sample<Label>[]> {
  try {
    return await read();
  } catch {
    return [];
  }
}

/** A gauge that is read on scrape. */
export function gaugeOf<Label extends string>(metric: ReadMetric<Label>): void {
  const { name, help, labels, registry } = metric;
  const collect: CollectFunction<Gauge<Label>> = async function () {
    const samples = await samplesOf(metric);
    this.reset();
    // Without labels, a reset would export 0, but an unknown value must not be exported.
    if (labels.length === 0) this.remove();
    for (const sample of samples) this.set(sample.labels, sample.value);
  };
  new Gauge({ name, help, labelNames: labels, registers: [registry], collect });
}

/**
 * A counter that reads an existing count on scrape. The count may restart at 0, which Prometheus handles as a restart.
 */
export function counterOf<Label extends string>(metric: ReadMetric<Label>): void {
  const { name, help, labels, registry } = metric;
  const collect: CollectFunction<Counter<Label>> = async function () {
    const samples = await samplesOf(metric);
    this.reset();
    for (const sample of samples) this.inc(sample.labels, sample.value);
  };
  new Counter({ name, help, labelNames: labels, registers: [registry], collect });
}
