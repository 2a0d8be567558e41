import type { Run } from '#shared/process/run.ts';

/** What every part of a build may use. */
export interface BuildContext {
  readonly run: Run;
  /** One line for whoever watches, on stderr. */
  readonly say: (line: string) => void;
  /** Build although the outputs are current. */
  readonly force: boolean;
  /** Ask the mirror again instead of using the cached package tree. */
  readonly refresh: boolean;
}
