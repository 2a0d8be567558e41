import { readFileSync } from 'node:fs';

/** The lines that a program of OpenStack's logged as errors: `2026-11-21 13:22:08.286 1 ERROR module …`. */
export function loggedErrors(file: string): string[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => /^\S+ \S+ \d+ (ERROR|CRITICAL) /.test(line));
}
