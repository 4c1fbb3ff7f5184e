import { about, exactly, remainingSeconds } from './estimate.ts';
import type { GoPackage } from './packages.ts';

/** The progress of a build, from the messages of go. */
export class BuildProgress {
  readonly #programs: number;
  readonly #processors: number;
  readonly #now: () => number;
  readonly #started: number;
  /** For each module, the packages to compile with the bytes of their source. */
  #waiting: Map<string, number>[] = [];
  #packages = 0;
  #bytes = 0;
  #downloads = 0;
  #compiled = 0;
  #compiledBytes = 0;
  #compilingSince: number | undefined;
  #linkedBefore = 0;
  #linkedNow: () => number = () => 0;

  /** @param now the time in milliseconds */
  constructor(programs: number, processors: number, now: () => number = Date.now) {
    this.#programs = programs;
    this.#processors = processors;
    this.#now = now;
    this.#started = now();
  }

  /** Compiling starts. @param modules the packages to compile for each module, in the order of the builds */
  start(modules: readonly (readonly GoPackage[])[]): void {
    const folders = new Set<string>();
    this.#waiting = modules.map((packages) => {
      const others = packages.filter(({ folder }) => !folders.has(folder));
      for (const { folder } of others) folders.add(folder);
      return new Map(others.map(({ name, bytes }) => [name, bytes]));
    });
    const all = this.#waiting.flatMap((each) => [...each.values()]);
    this.#packages = all.length;
    this.#bytes = all.reduce((sum, size) => sum + size, 0);
    this.#compilingSince = this.#now();
  }

  /** Reads one line of go's standard error: the download of a module, or a package that is compiled now. */
  onLine(line: string): void {
    if (line.startsWith('go: downloading ')) this.#downloads++;
    const module = this.#waiting.find((each) => each.has(line));
    if (module === undefined) return;
    this.#compiled++;
    this.#compiledBytes += module.get(line) ?? 0;
    module.delete(line);
  }

  /** The programs of a module are built now. @param linked how many of them are complete */
  countLinked(linked: () => number): void {
    this.#linkedNow = linked;
  }

  /** The programs of a module are complete. */
  addLinked(programs: number): void {
    this.#linkedBefore += programs;
    this.#linkedNow = () => 0;
  }

  elapsed(): string {
    return exactly((this.#now() - this.#started) / 1000);
  }

  /** The state of the build in one line. */
  line(): string {
    if (this.#compilingSince === undefined) return `${this.elapsed()}: ${this.#downloads} modules downloaded`;
    const linked = this.#linkedBefore + this.#linkedNow();
    const remaining = remainingSeconds(
      { sourceBytes: this.#bytes, programs: this.#programs },
      { sourceBytes: this.#compiledBytes, programs: linked },
      (this.#now() - this.#compilingSince) / 1000,
      this.#processors,
    );
    return `${this.elapsed()}: ${this.#compiled} of ${this.#packages} packages compiled, ${about(remaining)} left`;
  }
}
