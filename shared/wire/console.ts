import { z } from 'zod';

/**
 * A shell in the ramdisk: CLI → conductor (`GET /v1/nodes/{node}/console/shell`) → agent (`GET /v1/console`), two
 * WebSockets, Baton's own. Binary messages are the terminal's bytes in both directions; text messages are the JSON
 * objects below.
 */

const columns = z.coerce.number().int().min(1).max(1000);
const rows = z.coerce.number().int().min(1).max(1000);

/** The request's query: the size that the terminal begins with, and its kind as `$TERM` names it. */
export const ConsoleQuery = z.object({
  columns: columns.default(80),
  rows: rows.default(24),
  term: z
    .string()
    .regex(/^[a-z0-9][a-z0-9._+-]{0,40}$/i, 'the name of a kind of terminal, like xterm-256color')
    .default('xterm'),
});
export type ConsoleQuery = z.infer<typeof ConsoleQuery>;

/** To the shell: the window has another size. */
export const ConsoleResize = z.strictObject({ type: z.literal('resize'), columns, rows });
export type ConsoleResize = z.infer<typeof ConsoleResize>;

/** From the shell's side, the last message: why there will be no more, and the shell's exit code if it ended itself. */
export const ConsoleEnd = z.strictObject({
  type: z.literal('end'),
  reason: z.string(),
  exit_code: z.number().int().optional(),
});
export type ConsoleEnd = z.infer<typeof ConsoleEnd>;

/** A larger message closes the connection (code 1009). */
export const maxConsoleMessageBytes = 256 * 1024;
