#!/usr/bin/env node
import { createApiClient } from '#conductor/cli/api-client.ts';
import { runCommand } from '#conductor/cli/commands.ts';
import { systemClock } from '#shared/clock.ts';
import { errorChain } from '#shared/errors/app-error.ts';

try {
  await runCommand(
    {
      client: createApiClient(process.env['BATON_URL'] ?? 'http://127.0.0.1:6385'),
      screen: { write: (text) => process.stdout.write(text), isTerminal: process.stdout.isTTY },
      clock: systemClock,
    },
    process.argv.slice(2),
  );
} catch (error) {
  process.stderr.write(`baton: ${errorChain(error)}\n`);
  process.exitCode = 1;
}
