import { z } from 'zod';

const FileTimes = z.object({
  file: z.string(),
  project: z.string(),
  wallSeconds: z.number(),
  /**
   * Seconds of the worker and of all processes that the file has started and ended; absent when no test of it has run.
   */
  cpuSeconds: z.number().optional(),
});
const RunTimes = z.object({
  /** `2026-11-22` */
  day: z.string(),
  wallSeconds: z.number(),
  /** Cores of the machine, so that figures can be compared. */
  cores: z.number(),
  files: z.array(FileTimes),
});

export type FileTimes = z.infer<typeof FileTimes>;
export type RunTimes = z.infer<typeof RunTimes>;

/** @throws ZodError */
export function readTimes(text: string): RunTimes {
  return RunTimes.parse(JSON.parse(text));
}

/** Fewer are summed up: there are hundreds of files of a second. */
const shownFrom = 5;

/** In Markdown: first each project's sum, then the files, those that cost most processor time first. */
export function timesTable({ day, wallSeconds, cores, files }: RunTimes): string {
  const byProject = Map.groupBy(files, ({ project }) => project);
  const sums = [...byProject].map(([project, own]) => {
    return [project, `${own.length} files`, sum(own, cpuOf), sum(own, ({ wallSeconds: wall }) => wall)] as const;
  });
  const byCost = files.toSorted((a, b) => cpuOf(b) - cpuOf(a) || b.wallSeconds - a.wallSeconds);
  const shown = byCost.filter((each) => cpuOf(each) >= shownFrom || each.wallSeconds >= shownFrom);
  const rest = byCost.filter((each) => !shown.includes(each));
  const rows = shown.map((each) => [each.project, each.file, cpuOf(each), each.wallSeconds] as const);
  const others = [
    'all',
    `${rest.length} files below ${shownFrom} s`,
    sum(rest, cpuOf),
    sum(rest, (each) => each.wallSeconds),
  ] as const;
  const row = ([project, file, cpu, wall]: readonly [string, string, number, number]): string =>
    `| ${project} | ${file} | ${cpu.toFixed(1)} | ${wall.toFixed(1)} |`;
  return [
    `${day}, ${cores} cores: ${files.length} files in ${Math.round(wallSeconds)} s, ${Math.round(sum(files, cpuOf))} s of processor time`,
    '',
    '| project | file | processor s | wall s |',
    '|---|---|--:|--:|',
    ...[...sums, ...rows, ...(rest.length > 0 ? [others] : [])].map(row),
    '',
  ].join('\n');
}

function cpuOf({ cpuSeconds = 0 }: FileTimes): number {
  return cpuSeconds;
}

function sum(files: readonly FileTimes[], of: (file: FileTimes) => number): number {
  return files.reduce((total, file) => total + of(file), 0);
}
