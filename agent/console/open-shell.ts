import { openProgram } from '#shared/terminal/open-program.ts';
import type { OpenTerminal } from '#shared/terminal/terminal.ts';

/** Opens login shells, each behind a terminal of its own. */
export function createShellOpener(
  shell: string,
  environment: Readonly<Record<string, string | undefined>>,
): OpenTerminal {
  return (size) => openProgram({ program: shell, argv: ['-l'], environment, ...size });
}
