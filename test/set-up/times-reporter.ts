import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';
import { timesFile } from './times-file.ts';
import type { FileTimes, RunTimes } from './times-table.ts';

/** Parts of a module's report that are read here. */
type TimedModule = Pick<TestModule, 'diagnostic' | 'meta' | 'moduleId'> & {
  readonly project: { readonly name: string };
};

/**
 * Writes where a run's time went, by file, beside its report, as each file ends: a run that is killed leaves the times of
 * those that had ended. `npm run test:times` makes a table of it.
 */
export class TimesReporter implements Reporter {
  #began = performance.now();
  #files: FileTimes[] = [];
  readonly #file: string;

  constructor(file: string = timesFile) {
    this.#file = file;
  }

  onTestRunStart(): void {
    this.#began = performance.now();
    this.#files = [];
  }

  onTestModuleEnd(module: TimedModule): void {
    this.#files.push(timesOf(module));
    this.#write();
  }

  #write(): void {
    const times: RunTimes = {
      day: new Date().toISOString().slice(0, 10),
      wallSeconds: (performance.now() - this.#began) / 1000,
      cores: availableParallelism(),
      files: this.#files,
    };
    mkdirSync(dirname(this.#file), { recursive: true });
    // renamed when it is whole: a kill amid the write leaves the file before it
    writeFileSync(`${this.#file}.new`, JSON.stringify(times, undefined, 2));
    renameSync(`${this.#file}.new`, this.#file);
  }
}

function timesOf(module: TimedModule): FileTimes {
  const { collectDuration, duration, environmentSetupDuration, prepareDuration, setupDuration } = module.diagnostic();
  const wall = collectDuration + duration + environmentSetupDuration + prepareDuration + setupDuration;
  const { cpuSeconds } = module.meta();
  return {
    file: relative(process.cwd(), module.moduleId),
    project: module.project.name,
    wallSeconds: wall / 1000,
    ...(cpuSeconds === undefined ? {} : { cpuSeconds }),
  };
}
