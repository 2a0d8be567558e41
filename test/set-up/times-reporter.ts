import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';
import { timesFile } from './times-file.ts';
import type { FileTimes, RunTimes } from './times-table.ts';

/** Writes where a run's time went, by file, beside its report; `npm run test:times` makes a table of it. */
export class TimesReporter implements Reporter {
  #began = performance.now();

  onTestRunStart(): void {
    this.#began = performance.now();
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const times: RunTimes = {
      day: new Date().toISOString().slice(0, 10),
      wallSeconds: (performance.now() - this.#began) / 1000,
      cores: availableParallelism(),
      files: modules.map(timesOf),
    };
    mkdirSync(dirname(timesFile), { recursive: true });
    writeFileSync(timesFile, JSON.stringify(times, undefined, 2));
  }
}

function timesOf(module: TestModule): FileTimes {
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
