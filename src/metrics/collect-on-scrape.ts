import { type CollectFunction, Counter, Gauge, type Registry } from 'prom-client';

/** Metrics that are read off something when Prometheus asks, instead of being kept up to date. */

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
  /** A throw: nothing is known of it at present, and nothing is told. */
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

/** A gauge that is read when asked. */
export function gaugeOf<Label extends string>(metric: ReadMetric<Label>): void {
  const { name, help, labels, registry } = metric;
  const collect: CollectFunction<Gauge<Label>> = async function () {
    const samples = await samplesOf(metric);
    this.reset();
    // Without labels a reset says 0: what is not known is not told.
    if (labels.length === 0) this.remove();
    for (const sample of samples) this.set(sample.labels, sample.value);
  };
  new Gauge({ name, help, labelNames: labels, registers: [registry], collect });
}

/** A counter of something that counts by itself. It may begin anew: Prometheus takes that for a restart. */
export function counterOf<Label extends string>(metric: ReadMetric<Label>): void {
  const { name, help, labels, registry } = metric;
  const collect: CollectFunction<Counter<Label>> = async function () {
    const samples = await samplesOf(metric);
    this.reset();
    for (const sample of samples) this.inc(sample.labels, sample.value);
  };
  new Counter({ name, help, labelNames: labels, registers: [registry], collect });
}
