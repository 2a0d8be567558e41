#!/usr/bin/env node
import { createApiClient } from '#conductor/cli/api-client.ts';
import { runCommand } from '#conductor/cli/commands.ts';
import { openConsole } from '#conductor/cli/console.ts';
import { systemClock } from '#shared/clock.ts';
import { errorChain } from '#shared/errors/app-error.ts';

// `baton node list | head`: who reads has seen enough
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

const url = process.env['BATON_URL'] ?? 'http://127.0.0.1:6385';
const client = createApiClient(url);

try {
  await runCommand(
    {
      client,
      screen: {
        write: (output) => process.stdout.write(output),
        isTerminal: process.stdout.isTTY,
        // a terminal that does not know its size says 0
        size: () => ({ columns: process.stdout.columns || 80, rows: process.stdout.rows || 24 }),
      },
      clock: systemClock,
      openConsole: (ident) =>
        openConsole({ client, url }, ident, {
          input: process.stdin,
          output: process.stdout,
          term: process.env['TERM'],
        }),
    },
    process.argv.slice(2),
  );
} catch (error) {
  process.stderr.write(`baton: ${errorChain(error)}\n`);
  process.exitCode = 1;
}
